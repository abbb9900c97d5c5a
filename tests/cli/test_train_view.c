#include "cli/train_view.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/scratch.h"

#define LAYERS 2
#define HEADS 2

static struct train_view view;
static struct trainer_events events;
static struct config config;
static int out_before, err_before;

static int to_file(FILE *stream, const char *name)
{
    fflush(stream);
    const int before = dup(fileno(stream)), file = open(scratch_path("%s", name), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    cr_assert(before >= 0 && file >= 0 && dup2(file, fileno(stream)) >= 0);
    close(file);
    return before;
}

static void from_file(FILE *stream, int before)
{
    fflush(stream);
    dup2(before, fileno(stream));
    close(before);
}

/* From here on both streams go to files. */
static void begin(void)
{
    struct error err;
    config = config_make(LAYERS, HEADS, 8, 8, 10);
    out_before = to_file(stdout, "out");
    err_before = to_file(stderr, "err");
    cr_assert_eq(train_view_open(&view, &config, 20, &err), STATUS_OK);
    events = train_view_events(&view);
}

/* What was written; to be freed. */
static void end(char **out, char **err)
{
    train_view_close(&view);
    from_file(stdout, out_before);
    from_file(stderr, err_before);
    *out = scratch_read(scratch_path("out"), NULL);
    *err = scratch_read(scratch_path("err"), NULL);
}

TestSuite(train_view, .init = scratch_make, .fini = scratch_remove);

static const struct leak_report CLEAN;

static struct trainer_eval eval_at(size_t step, const char *sample)
{
    return (struct trainer_eval){.step = step,
                                 .train_loss = 1.25,
                                 .val_loss = 1.5,
                                 .leak = &CLEAN,
                                 .sample = sample,
                                 .sample_bytes = strlen(sample)};
}

Test(train_view, an_evaluation_shows_losses_heads_and_a_sample)
{
    char *out, *err;
    const double calm[] = {0.5, 0.99, 0.6, 0.7}, scores[] = {1, 1, 12, 1}, later[] = {0.5, 0.1, 0.25, 0.7},
                 grown[] = {1, 1, 40, 1};
    begin();
    struct trainer_eval e = eval_at(0, "zzz");
    e.best = true;
    events.eval(events.context, &e);
    e = eval_at(10, "one\ntwo");
    e.entropy = calm;
    e.max_score = scores;
    e.best = true;
    events.eval(events.context, &e);
    e = eval_at(20, "");
    e.entropy = later;
    e.max_score = grown;
    e.val_loss = (double)NAN;
    events.eval(events.context, &e);
    end(&out, &err);
    cr_assert_eq(
        strncmp(out, "step 0  train 1.2500  val 1.5000\nstep 10  train 1.2500  val 1.5000  (best so far)\n", 80), 0,
        "%s", out);
    cr_assert_null(strstr(out, "zzz"), "nothing is sampled before the first step");
    cr_assert(strstr(out, "0.50 0.99") && strstr(out, "uniform: ") && strstr(out, "  | one\n  | two\n"), "%s", out);
    cr_assert(strstr(out, "step 20  train 1.2500\n"), "%s", out);
    cr_assert(strstr(out, "collapsing: ") && strstr(out, "layer 1 head 0"), "%s", out);
    cr_assert_str_eq(err, "");
    free(out);
    free(err);
}

Test(train_view, a_long_line_of_a_sample_goes_on_below_its_beginning_on_a_screen_only)
{
    char *out, *err;
    const char *sample = "abcdefgh\n\u94f6\u884c\u94f6\u884c\u94f6\nend";
    begin();
    struct trainer_eval e = eval_at(10, sample);
    view.out.width = 12;
    events.eval(events.context, &e);
    view.out.screen = true;
    events.eval(events.context, &e);
    end(&out, &err);
    cr_assert(strstr(out, "\n  | abcdefgh\n  | \u94f6\u884c\u94f6\u884c\u94f6\n  | end\n"), "%s", out);
    cr_assert(strstr(out, "\n  | abcdefgh\n  | \u94f6\u884c\u94f6\u884c\n    \u94f6\n  | end\n"), "%s", out);
    free(out);
    free(err);
}

Test(train_view, a_sample_cannot_move_the_cursor)
{
    char *out, *err;
    begin();
    struct trainer_eval e = eval_at(1, "a\x1b[2Jb\r\x7f\tc\xc2\x9b\x31m\xc2\xa0\xc3\xa9\r\n\nd\xc2");
    events.eval(events.context, &e);
    end(&out, &err);
    cr_assert(strstr(out, "\n  | a?[2Jb??\tc?1m\xc2\xa0\xc3\xa9\r\n  | \n  | d\xc2\n"), "%s", out);
    free(out);
    free(err);
}

Test(train_view, a_leak_is_shown_and_a_head_without_entropy_is_no_number)
{
    char *out, *err;
    const struct leak_report leak = {.leak = true};
    const double none[] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN}, scores[4] = {0};
    begin();
    struct trainer_eval e = eval_at(5, "x");
    e.leak = &leak;
    e.entropy = none;
    e.max_score = scores;
    events.eval(events.context, &e);
    end(&out, &err);
    cr_assert(strstr(out, "leaks: the training loss means nothing"), "%s", out);
    cr_assert_null(strstr(out, "nan"), "%s", out);
    free(out);
    free(err);
}

Test(train_view, steps_and_notes_go_to_stderr)
{
    char *out, *err;
    begin();
    struct trainer_step s = {.step = 1, .loss = 2.5, .tokens_per_s = 1234, .seconds_left = 47};
    events.step(events.context, &s);
    s.step = 2;
    events.step(events.context, &s); /* too soon for another line */
    events.note(events.context, "by the way");
    s.step = 20;
    events.step(events.context, &s); /* the last one is always shown */
    events.saved(events.context, 20, "dir");
    end(&out, &err);
    cr_assert_str_eq(out, "");
    cr_assert(strstr(err, "step 1/20  loss 2.5000  1.23k tokens/s  47 s left\n") == err, "%s", err);
    cr_assert_null(strstr(err, "step 2/20"));
    cr_assert(strstr(err, "\nby the way\nstep 20/20  loss 2.5000  1.23k tokens/s\n"), "nothing is left: %s", err);
    free(out);
    free(err);
}
