/* nopeek train, from outside: two processes and one run, and a run whose last step is damaged. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/program.h"
#include "support/rig.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

TestSuite(cmd_train_lock, .init = scratch_make, .fini = scratch_remove, .timeout = 300);

#define ENDLESS "--steps", "1000000", "--eval-interval", "0", "--save-every", "0"

static void end(pid_t child, int by_signal, int expected)
{
    cr_assert_eq(kill(child, by_signal), 0);
    cr_assert_eq(tiny_train_wait(child), expected);
}

/* The last line of stderr is the refusal, whatever was noted before. */
static void expect_refused(const struct program *p, const char *says)
{
    cr_assert_eq(p->status, 1, "%s", p->err);
    const char *line = strstr(p->err, "nopeek: ");
    cr_assert(line && strstr(line, says) && strchr(line, '\n')[1] == '\0', "\"%s\" lacks \"%s\"", p->err, says);
}

Test(cmd_train_lock, a_second_process_in_the_same_run_is_refused_and_touches_nothing)
{
    struct program p;
    char holder[64];
    const char *run = scratch_path("run");
    const pid_t child = TINY_TRAIN_START(tiny_train_text(), "-o", run, ENDLESS);
    tiny_train_await(scratch_path("run/best")); /* the last name that is made */
    snprintf(holder, sizeof holder, "run: process %jd is training in it", (intmax_t)child);
    const size_t names = scratch_count(run);
    TINY_TRAIN(&p, "--resume", run);
    expect_refused(&p, holder);
    program_free(&p);
    TINY_TRAIN(&p, "--resume", scratch_path("run/latest"));
    expect_refused(&p, holder);
    program_free(&p);
    TINY_TRAIN(&p, tiny_train_text(), "-o", run);
    expect_refused(&p, holder);
    program_free(&p);
    TINY_TRAIN(&p, tiny_train_text(), "-o", run, "--force");
    expect_refused(&p, holder);
    program_free(&p);
    cr_assert_eq(scratch_count(run), names);
    cr_assert(scratch_exists(scratch_path("run/step-000000/model.safetensors")));
    /* Whoever only reads is let in. */
    PROGRAM(&p, "generate", run, "-n", "3");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    TINY_TRAIN_OK("--init-from", run, tiny_train_text(), "-o", scratch_path("new"), "--steps", "1");
    end(child, SIGINT, 130);
    TINY_TRAIN_OK("--resume", run, "--max-time", "0.01");
}

Test(cmd_train_lock, a_run_whose_process_was_killed_is_free)
{
    const char *run = scratch_path("run");
    const pid_t child = TINY_TRAIN_START(tiny_train_text(), "-o", run, ENDLESS);
    tiny_train_await(scratch_path("run/latest"));
    end(child, SIGKILL, 128 + SIGKILL);
    TINY_TRAIN_OK("--resume", run, "--max-time", "0.01");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--force", "--steps", "2");
    cr_assert_not(scratch_exists(scratch_path("run/.nopeek-lock")));
}

Test(cmd_train_lock, of_several_that_begin_the_same_run_one_does)
{
    for (int round = 0; round < 5; round++) {
        pid_t child[4];
        size_t began = 0;
        const char *run = scratch_path("run-%d", round);
        for (size_t i = 0; i < 4; i++)
            child[i] = TINY_TRAIN_START(tiny_train_text(), "-o", run, "--steps", "30", "--save-every", "1");
        for (size_t i = 0; i < 4; i++) {
            const int status = tiny_train_wait(child[i]);
            cr_assert(status == 0 || status == 1 || status == 2, "%d", status); /* 2: it had ended by then */
            began += status == 0;
        }
        cr_assert_eq(began, 1);
        cr_assert(rig_has_step(run + strlen(scratch_folder()) + 1, 30));
    }
}

/* One that waits at its leak check while the other goes on must not take what was saved for an abandoned timeline. */
Test(cmd_train_lock, resumed_by_several_at_once_no_step_is_moved_aside)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--steps", "40", "--stop-after", "1", "--keep", "0");
    for (int round = 0; round < 3; round++) {
        pid_t child[3];
        char stop[16];
        snprintf(stop, sizeof stop, "%d", 10 * (round + 1));
        for (size_t i = 0; i < 3; i++)
            child[i] = TINY_TRAIN_START("--resume", run, "--save-every", "1", "--stop-after", stop);
        for (size_t i = 0; i < 3; i++) {
            const int status = tiny_train_wait(child[i]);
            cr_assert(status == 0 || status == 1, "%d", status);
        }
        for (int step = 0; step <= 10 * (round + 1); step++) {
            cr_assert(scratch_exists(scratch_path("run/step-%06d", step)), "step %d", step);
            cr_assert_not(scratch_exists(scratch_path("run/step-%06d.old", step)), "step %d", step);
        }
    }
}

Test(cmd_train_lock, a_run_whose_last_step_is_damaged_goes_on_from_the_one_that_is_named)
{
    struct program p;
    const char *run = scratch_path("run"), *damaged = scratch_path("run/step-000020/optimizer.safetensors");
    TINY_TRAIN_OK(tiny_train_text(), "-o", scratch_path("whole"));
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--keep", "0", "--save-every", "10");
    size_t n;
    char *bytes = scratch_read(damaged, &n);
    bytes[n - 1] = (char)(bytes[n - 1] ^ 64);
    scratch_write(damaged, bytes, n);
    free(bytes);
    TINY_TRAIN(&p, "--resume", run);
    program_expect_refused(&p, 1, "optimizer.safetensors: not the bytes that were saved");
    const char *named = strstr(p.err, "the step before it is ");
    cr_assert(named, "%s", p.err);
    char step[512];
    snprintf(step, sizeof step, "%.*s", (int)strcspn(named + 22, "\n"), named + 22);
    program_free(&p);
    cr_assert_str_eq(step, scratch_path("run/step-000010"));
    PROGRAM(&p, "generate", run, "-n", "3"); /* which needs no optimizer */
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    TINY_TRAIN_OK("--resume", step);
    cr_assert(rig_same_bits("whole", "run", 20));
    cr_assert(scratch_exists(scratch_path("run/step-000020.old")));
}
