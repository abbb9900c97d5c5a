#include "store/run_read.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/run.h"
#include "support/scratch.h"

TestSuite(run_read, .init = scratch_make, .fini = scratch_remove, .timeout = 120);

struct writer {
    struct gpt model;
    struct tokenizer tokenizer;
};

static struct writer writer_make(void)
{
    struct error err;
    struct writer w = {.tokenizer = {.kind = TOKENIZER_CHARS}};
    cr_assert_eq(tokenizer_make_chars(&w.tokenizer, (const uint8_t *)"abc", 3, "text", &err), STATUS_OK);
    const struct config c = config_make(1, 1, 4, 4, w.tokenizer.size);
    cr_assert_eq(gpt_create(&w.model, &c, &err), STATUS_OK);
    params_init(w.model.params, &w.model.table, &c, 1);
    return w;
}

static void writer_free(struct writer *w)
{
    gpt_free(&w->model);
    tokenizer_free(&w->tokenizer);
}

static void write_step(const struct writer *w, size_t step)
{
    struct error err;
    cr_assert_eq(checkpoint_write(scratch_folder(), step, &w->model, &w->tokenizer, NULL, NULL, &err), STATUS_OK, "%s",
                 err.message);
}

/* One of two steps is always there, neither for longer than `pause` nanoseconds: the other one comes, this one goes.
 * Ends with the test that watches. */
static void juggle(pid_t watcher, long pause)
{
    const struct timespec moment = {.tv_nsec = pause};
    const char *const step[] = {scratch_path("step-000001"), scratch_path("step-000002")}, *const away[] = {
                                                                                               scratch_path("away-1"),
                                                                                               scratch_path("away-2")};
    for (size_t i = 0; getppid() == watcher; i = 1 - i) {
        if (rename(away[1 - i], step[1 - i]) != 0 || rename(step[i], away[i]) != 0)
            _exit(1);
        if (pause > 0)
            nanosleep(&moment, NULL);
    }
    _exit(0);
}

static pid_t start_juggling(const struct writer *w, long pause)
{
    const pid_t self = getpid();
    write_step(w, 1);
    write_step(w, 2);
    cr_assert_eq(rename(scratch_path("step-000002"), scratch_path("away-2")), 0);
    const pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0)
        juggle(self, pause);
    return pid;
}

static void stop_juggling(pid_t pid)
{
    int status;
    cr_assert(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    cr_assert(WIFSIGNALED(status), "the other one failed by itself");
}

Test(run_read, a_reader_is_never_disturbed_by_steps_that_go_while_it_reads)
{
    struct error err;
    struct writer w = writer_make();
    const pid_t pid = start_juggling(&w, 100000);
    size_t seen[3] = {0};
    for (size_t i = 0; i < 2000 || seen[1] < 100 || seen[2] < 100; i++) {
        struct checkpoint c;
        cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_OK, "after %zu: %s", i, err.message);
        seen[json_integer_value(json_object_get(c.state, "step"))]++;
        checkpoint_free(&c);
    }
    stop_juggling(pid);
    writer_free(&w);
}

Test(run_read, a_step_that_goes_while_it_is_looked_at_is_no_empty_run)
{
    struct error err;
    struct writer w = writer_make();
    const pid_t pid = start_juggling(&w, 0);
    char last = 0;
    size_t changes = 0;
    for (size_t i = 0; i < 20000 || changes < 200; i++) {
        char *folder;
        cr_assert_eq(run_find(&folder, scratch_folder(), &err), STATUS_OK, "after %zu: %s", i, err.message);
        changes += folder[strlen(folder) - 1] != last;
        last = folder[strlen(folder) - 1];
        free(folder);
    }
    stop_juggling(pid);
    writer_free(&w);
}

static void damage(const char *path)
{
    size_t n;
    char *bytes = scratch_read(path, &n);
    bytes[n - 1] = (char)(bytes[n - 1] ^ 1);
    scratch_write(path, bytes, n);
    free(bytes);
}

Test(run_read, a_damaged_last_step_is_refused_and_the_one_before_it_is_named_and_can_be_read)
{
    struct error err;
    struct checkpoint c;
    struct writer w = writer_make();
    write_step(&w, 5);
    write_step(&w, 7);
    damage(scratch_path("step-000007/model.safetensors"));
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "step-000007/model.safetensors: not the bytes that were saved"), "%s", err.message);
    const char *named = strstr(err.message, "; the step before it is ");
    cr_assert(named, "%s", err.message);
    named += strlen("; the step before it is ");
    cr_assert_str_eq(named, scratch_path("step-000005"));
    cr_assert_null(c.path);
    const struct error first = err;
    cr_assert_eq(run_read(&c, strstr(first.message, "; the step before it is ") + strlen("; the step before it is "),
                          false, &err),
                 STATUS_OK, "%s", err.message);
    checkpoint_free(&c);
    /* Whoever names a step is told of that step alone; and before the first one there is none. */
    cr_assert_eq(run_read(&c, scratch_path("step-000007"), false, &err), STATUS_FORMAT);
    cr_assert_null(strstr(err.message, "the step before"), "%s", err.message);
    damage(scratch_path("step-000005/model.safetensors"));
    cr_assert_eq(rename(scratch_path("step-000007"), scratch_path("away")), 0);
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_FORMAT);
    cr_assert_null(strstr(err.message, "the step before"), "%s", err.message);
    writer_free(&w);
}

Test(run_read, files_behind_links_count_by_their_bytes_and_pipes_not_at_all)
{
    struct error err;
    struct checkpoint c;
    struct writer w = writer_make();
    write_step(&w, 5);
    write_step(&w, 7);
    /* As in a cache that keeps files by their hashes. */
    const char *model = scratch_path("step-000007/model.safetensors"), *blob = scratch_path("blob");
    cr_assert(rename(model, blob) == 0 && symlink("../blob", model) == 0);
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_OK, "%s", err.message);
    checkpoint_free(&c);
    damage(blob);
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_FORMAT);
    /* The state of another step under this one's name. */
    const char *state = scratch_path("step-000007/trainer_state.json");
    damage(blob);
    cr_assert(unlink(state) == 0 && symlink("../step-000005/trainer_state.json", state) == 0);
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "this is step 5, the folder's name says otherwise"), "%s", err.message);
    /* A pipe in a file's place, or a link that dangles: no complete step. */
    cr_assert(unlink(model) == 0 && mkfifo(model, 0666) == 0);
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(c.path, scratch_path("step-000005"));
    checkpoint_free(&c);
    cr_assert(unlink(model) == 0 && symlink("nowhere", model) == 0);
    cr_assert_eq(run_read(&c, scratch_folder(), false, &err), STATUS_OK, "%s", err.message);
    checkpoint_free(&c);
    writer_free(&w);
}
