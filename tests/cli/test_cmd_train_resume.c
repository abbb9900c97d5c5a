/* nopeek train, from outside: stopping in every way there is, and going on. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/run.h"
#include "support/program.h"
#include "support/rig.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

TestSuite(cmd_train_resume, .init = scratch_make, .fini = scratch_remove, .timeout = 300);

#define DROPPED "--dropout", "0.2", "--grad-accum", "3", "--warmup", "8"

static const char *RUN(const char *name)
{
    return scratch_path("%s", name);
}

static void expect_same(const char *a, const char *b, size_t step)
{
    cr_assert(rig_same_bits(a, b, step), "%s and %s", a, b);
    json_t *x = rig_metrics(a), *y = rig_metrics(b);
    cr_assert(json_array_size(x) > 3 && json_equal(x, y), "the logs of %s and %s differ", a, b);
    json_decref(x);
    json_decref(y);
}

/* The last line of stderr is one error, with this status and these words. */
static void expect_failed(const struct program *p, int status, const char *says)
{
    cr_assert_eq(p->status, status, "%s", p->err);
    const char *line = strstr(p->err, "nopeek: ");
    cr_assert(line && strchr(line, '\n') && strchr(line, '\n')[1] == '\0', "%s", p->err);
    cr_assert(strstr(line, says), "\"%s\" lacks \"%s\"", line, says);
}

#define REFUSED(status, says, ...)                                                                                     \
    {                                                                                                                  \
        struct program refused_;                                                                                       \
        TINY_TRAIN(&refused_, __VA_ARGS__);                                                                            \
        program_expect_refused(&refused_, status, says);                                                               \
        program_free(&refused_);                                                                                       \
    }

Test(cmd_train_resume, twenty_steps_are_ten_and_ten_to_the_last_bit)
{
    const char *const threads[] = {"1", "2"};
    for (size_t i = 0; i < 2; i++) {
        char whole[16], cut[16];
        snprintf(whole, sizeof whole, "whole-%zu", i);
        snprintf(cut, sizeof cut, "cut-%zu", i);
        const char *const steps = i ? "6" : "20";
        TINY_TRAIN_OK(tiny_train_text(), "-o", RUN(whole), DROPPED, "--threads", threads[i], "--steps", steps,
                      "--warmup", i ? "4" : "8", "--log-interval", "3", "--eval-interval", "4");
        TINY_TRAIN_OK(tiny_train_text(), "-o", RUN(cut), DROPPED, "--threads", threads[i], "--steps", steps, "--warmup",
                      i ? "4" : "8", "--log-interval", "3", "--eval-interval", "4", "--stop-after", i ? "2" : "5");
        TINY_TRAIN_OK("--resume", RUN(cut));
        expect_same(whole, cut, i ? 6 : 20);
    }
}

Test(cmd_train_resume, cut_twice_and_resumed_by_a_checkpoint_it_is_the_same)
{
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("whole"), DROPPED);
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("cut"), DROPPED, "--stop-after", "3", "--keep", "0");
    TINY_TRAIN_OK("--resume", RUN("cut"), "--stop-after", "10");
    TINY_TRAIN_OK("--resume", RUN("cut/latest"), "--stop-after", "15");
    struct program p;
    TINY_TRAIN(&p, "--resume", RUN("cut/step-000003")); /* back in time: what came later is moved aside */
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "2 later checkpoints were moved aside"), "%s", p.err);
    program_free(&p);
    expect_same("whole", "cut", 20);
    cr_assert(scratch_exists(RUN("cut/step-000015.old")));
}

Test(cmd_train_resume, so_it_is_in_bf16_whose_precision_comes_with_the_run)
{
#define HALF                                                                                                           \
    DROPPED, "--precision", "bf16", "--threads", "2", "--grad-accum", "2", "--steps", "8", "--eval-interval", "4"
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("whole"), HALF);
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("cut"), HALF, "--stop-after", "3");
    TINY_TRAIN_OK("--resume", RUN("cut"));
    expect_same("whole", "cut", 8);
    /* the checkpoint itself is as good for fp32 */
    TINY_TRAIN_OK("--resume", RUN("cut"), "--precision", "fp32", "--steps", "9");
}

Test(cmd_train_resume, killed_at_any_moment_it_goes_on_with_the_same_bits)
{
#define LONG DROPPED, "--steps", "300", "--save-every", "7", "--eval-interval", "60", "--keep", "3"
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("whole"), LONG);
    int status = -1;
    for (long i = 0; i < 8 && status != 0; i++) {
        const struct timespec moment = {.tv_nsec = (20 + 37 * i % 90) * 1000000};
        const pid_t child = i == 0 ? TINY_TRAIN_START(tiny_train_text(), "-o", RUN("killed"), LONG)
                                   : TINY_TRAIN_START("--resume", RUN("killed"));
        if (i == 0)
            tiny_train_await(RUN("killed/step-000000"));
        nanosleep(&moment, NULL);
        kill(child, SIGKILL);
        status = tiny_train_wait(child);
        cr_assert(status == 0 || status == 128 + SIGKILL, "%d", status);
    }
    TINY_TRAIN_OK("--resume", RUN("killed"));
    expect_same("whole", "killed", 300);
}

Test(cmd_train_resume, a_signal_ends_it_with_130_and_a_checkpoint)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        char run[16], latest[32];
        snprintf(run, sizeof run, "run-%zu", i);
        snprintf(latest, sizeof latest, "%s/latest", run);
        /* the last one is caught while it evaluates, which is most of what it does */
        const pid_t child = TINY_TRAIN_START(tiny_train_text(), "-o", RUN(run), "--steps", "1000000", "--eval-interval",
                                             i == 2 ? "1" : "0", "--eval-windows", i == 2 ? "10000" : "1");
        tiny_train_await(RUN(latest));
        kill(child, signals[i]);
        cr_assert_eq(tiny_train_wait(child), 130);
        char *err = scratch_read(scratch_path("err"), NULL);
        const char *said = strstr(err, "nopeek: interrupted after step ");
        size_t step;
        cr_assert(said && strstr(said, "go on with nopeek train --resume ") && strchr(said, '\n')[1] == '\0', "%s",
                  err);
        cr_assert_eq(sscanf(said, "nopeek: interrupted after step %zu,", &step), 1);
        cr_assert(step > 0 && rig_has_step(run, step), "step %zu", step);
        free(err);
        char stop[32];
        snprintf(stop, sizeof stop, "%zu", step + 1);
        TINY_TRAIN_OK("--resume", RUN(run), "--stop-after", stop);
        cr_assert(rig_has_step(run, step + 1));
    }
}

Test(cmd_train_resume, two_signals_at_once_end_it_on_the_spot_with_a_whole_checkpoint)
{
    const pid_t child =
        TINY_TRAIN_START(tiny_train_text(), "-o", RUN("run"), "--steps", "1000000", "--save-every", "1");
    tiny_train_await(RUN("run/step-000003"));
    kill(child, SIGINT);
    kill(child, SIGTERM);
    cr_assert_eq(tiny_train_wait(child), 130);
    TINY_TRAIN_OK("--resume", RUN("run"), "--max-time", "0.01");
}

Test(cmd_train_resume, time_that_is_up_ends_it_well)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("run"), "--steps", "100000000", "--max-time", "0.05");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "--max-time") && strstr(p.err, "stopped after step "), "%s", p.err);
    program_free(&p);
    TINY_TRAIN(&p, "--resume", RUN("run"), "--max-time", "0.01");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
}

Test(cmd_train_resume, a_run_that_is_done_can_be_lengthened)
{
    struct program p;
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"));
    TINY_TRAIN(&p, "--resume", RUN("run"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "done after step 20"), "%s", p.err);
    program_free(&p);
    TINY_TRAIN_OK("--resume", RUN("run"), "--steps", "30");
    cr_assert(rig_has_step("run", 30));
}

Test(cmd_train_resume, where_nothing_is_left_to_do_it_says_so_and_points_the_links_at_the_last_step)
{
    struct program p;
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--keep", "0", "--save-every", "1");
    /* killed between the last checkpoint and its links */
    cr_assert(unlink(RUN("run/latest")) == 0 && symlink("step-000019", RUN("run/latest")) == 0);
    TINY_TRAIN(&p, "--resume", RUN("run"), "--steps", "10");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "nothing to do: step 20 is done and the run ends at step 10"), "%s", p.err);
    program_free(&p);
    char target[32] = "";
    cr_assert_gt(readlink(RUN("run/latest"), target, sizeof target - 1), 0);
    cr_assert_str_eq(target, "step-000020");
}

/* ---- what cannot be written ---- */

Test(cmd_train_resume, a_file_that_cannot_grow_is_one_line_and_the_checkpoint_before_stays)
{
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--n-embd", "32", "--stop-after", "3");
    /* In blocks of 512 bytes: too few for the log, then enough for that but not for the weights. */
    const char *const limits[] = {"1", "16"};
    for (size_t i = 0; i < 2; i++) {
        struct program p;
        char line[4096];
        /* cat: the limit would hold for a file that the error goes to as well */
        snprintf(line, sizeof line,
                 "(ulimit -f %s && \"$NOPEEK\" train --resume '%s' --log-interval 1; echo status $?) 2>&1 | cat",
                 limits[i], RUN("run"));
        program_shell(&p, line);
        const char *said = strstr(p.out, "nopeek: ");
        cr_assert(said && strstr(said, i ? "model.safetensors" : "metrics.jsonl"), "%s", p.out);
        cr_assert(strstr(said, "File too large\nstatus 1\n"), "%s", said);
        program_free(&p);
        cr_assert(rig_has_step("run", 3) && !rig_has_step("run", 20));
    }
    cr_assert_eq(scratch_count(RUN("run")), 5, "no left-overs: 2 checkpoints, 2 links, the log");
    TINY_TRAIN_OK("--resume", RUN("run"));
    cr_assert(rig_has_step("run", 20));
}

Test(cmd_train_resume, a_damaged_log_costs_a_note_and_not_the_run)
{
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--stop-after", "3", "--log-interval", "1");
    char *log = scratch_read(RUN("run/metrics.jsonl"), NULL);
    log[0] = '\x1b';
    scratch_write(RUN("run/metrics.jsonl"), log, strlen(log));
    struct program p;
    TINY_TRAIN(&p, "--resume", RUN("run"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "line 1 of metrics.jsonl is no record (1 such lines): the log as it was is "), "%s", p.err);
    program_free(&p);
    char *old = scratch_read(RUN("run/metrics.jsonl.old"), NULL), *now = scratch_read(RUN("run/metrics.jsonl"), NULL);
    cr_assert_str_eq(old, log, "nothing is lost");
    const char *sound = strchr(log, '\n') + 1;
    cr_assert_eq(strncmp(now, sound, strlen(sound)), 0, "what is sound goes on");
    cr_assert_gt(strlen(now), strlen(sound));
    free(log);
    free(old);
    free(now);
}

Test(cmd_train_resume, a_place_that_cannot_be_written_is_one_line)
{
    scratch_write(scratch_path("file"), "x", 1);
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", scratch_path("file/run"));
    expect_failed(&p, 1, "file");
    program_free(&p);
    TINY_TRAIN(&p, tiny_train_text(), "-o", "");
    cr_assert_neq(p.status, 0);
    program_free(&p);
}

/* ---- resuming what cannot be resumed ---- */

Test(cmd_train_resume, other_settings_are_refused_with_both_values)
{
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--stop-after", "2");
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("split"), "--stop-after", "2", "--val-split", "0.3");
    REFUSED(2, "n_embd is 8 there and 16 here", "--resume", RUN("run"), "--n-embd", "16")
    REFUSED(2, "block_size is 8 there and 4 here", "--resume", RUN("run"), "--block-size", "4")
    REFUSED(2, "seed is 1 there and 2 here", "--resume", RUN("run"), "--seed", "2")
    REFUSED(2, "dropout is 0.0 there and 0.5 here, bias is false there and true here", "--resume", RUN("run"), "--bias",
            "--dropout", "0.5")
    REFUSED(2, "val_split is 0.3 there and 0.1 here", "--resume", RUN("split"), "--val-split", "0.1")
    REFUSED(2, "mask is \"causal\" there and \"none\" here", "--resume", RUN("run"), "--mask", "none")
    REFUSED(2, "tokens is \"char\" there and \"byte\" here", "--resume", RUN("run"), "--tokens", "byte")
    REFUSED(2, "grad_accum is 1 there and 3 here", "--resume", RUN("run"), "--grad-accum", "3")
    TINY_TRAIN_OK("--resume", RUN("run"), "--n-embd", "8", "--seed", "1", "--dropout", "0.00");
}

Test(cmd_train_resume, settings_that_make_no_sense_are_the_files_fault_and_not_the_callers)
{
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--stop-after", "2");
    const char *const path = scratch_path("run/step-000002/trainer_state.json");
    json_t *state = json_load_file(path, 0, NULL);
    cr_assert_not_null(state);
    json_object_set_new(json_object_get(state, "settings"), "steps", json_integer(-1));
    cr_assert_eq(json_dump_file(state, path, 0), 0);
    REFUSED(1, "trainer_state.json: not what was saved", "--resume", RUN("run"))
    json_object_del(state, "hash");
    cr_assert_eq(json_dump_file(state, path, 0), 0);
    json_decref(state);
    REFUSED(1, "\"steps\": found \"-1\", expected a whole number", "--resume", RUN("run"))
}

Test(cmd_train_resume, another_text_is_told_by_its_characters)
{
    char *text = scratch_read(tiny_train_text(), NULL);
    const char *const swapped = scratch_path("swapped"), *const shuffled = scratch_path("shuffled"),
                      *const moved = scratch_path("moved");
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--stop-after", "2");
    scratch_write(moved, text, 600);
    for (size_t i = 0; i < 300; i++) { /* the same characters in another order */
        const char c = text[i];
        text[i] = text[599 - i];
        text[599 - i] = c;
    }
    scratch_write(shuffled, text, 600);
    for (size_t i = 0; i < 600; i++) /* as many characters, one of them another */
        text[i] = text[i] == 'g' ? 'h' : text[i];
    scratch_write(swapped, text, 600);
    free(text);
    REFUSED(1, "vocabularies differ", "--resume", RUN("run"), swapped)
    REFUSED(1, "run alone has 'g'", "--resume", RUN("run"), swapped)
    REFUSED(1, "swapped alone has 'h'", "--resume", RUN("run"), swapped)
    REFUSED(1, "(same characters, other content)", "--resume", RUN("run"), shuffled)
    REFUSED(1, "empty (0 bytes)", "--resume", RUN("run"), "/dev/null")
    /* The same text elsewhere is the same text, and from then on it is looked for there. */
    TINY_TRAIN_OK("--resume", RUN("run"), moved, "--stop-after", "4");
    cr_assert_eq(remove(tiny_train_text()), 0);
    TINY_TRAIN_OK("--resume", RUN("run"), "--stop-after", "6");
    cr_assert_eq(remove(moved), 0);
    REFUSED(1, "if it has moved: nopeek train --resume", "--resume", RUN("run"))
    REFUSED(1, "moved: cannot be opened", "--resume", RUN("run"))
    scratch_write(moved, "abc dea, fab\ncad gab. ", 22);
    REFUSED(1, "moved has changed since", "--resume", RUN("run"))
}

Test(cmd_train_resume, standard_input_must_be_given_again)
{
    char *text = scratch_read(tiny_train_text(), NULL);
    struct program p;
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("whole"));
    char line[4096];
    snprintf(line, sizeof line,
             "\"$NOPEEK\" train - -o '%s' --n-layer 1 --n-head 2 --n-embd 8 --block-size 8 --batch-size 2 --steps 20 "
             "--dropout 0 --eval-windows 4 --sample-size 12 --threads 1 --stop-after 6 <'%s'",
             RUN("piped"), tiny_train_text());
    program_shell(&p, line);
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    REFUSED(2, "was trained on standard input: name the text", "--resume", RUN("piped"))
    const char *const again[] = {"train", "--resume", RUN("piped"), "-", NULL};
    program_run(&p, "abc dea, fab\ncad gab. ", again);
    expect_failed(&p, 1, "is not the text that");
    program_free(&p);
    program_run(&p, text, again);
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    expect_same("whole", "piped", 20);
    free(text);
}

Test(cmd_train_resume, without_its_optimizer_or_its_state_a_checkpoint_is_for_sampling_only)
{
    struct program p;
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--steps", "2");
    cr_assert_eq(remove(scratch_path("run/step-000002/optimizer.safetensors")), 0);
    REFUSED(1, "optimizer", "--resume", RUN("run"))
    PROGRAM(&p, "generate", RUN("run"), "-n", "5");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    TINY_TRAIN_OK(tiny_train_text(), "--init-from", RUN("run"), "-o", RUN("new"), "--steps", "2");
    /* A folder that is no step of a run */
    cr_assert_eq(rename(scratch_path("new/step-000002"), scratch_path("alone")), 0);
    REFUSED(2, "use --init-from", "--resume", scratch_path("alone"))
    cr_assert_eq(remove(scratch_path("alone/trainer_state.json")), 0);
    REFUSED(1, "--init-from", "--resume", scratch_path("alone"))
    REFUSED(1, "neither a checkpoint", "--resume", scratch_folder())
}
