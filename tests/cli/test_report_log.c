#include "cli/report_log.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

static struct report_log l;

static void drop(void)
{
    report_log_free(&l);
    scratch_remove();
}

TestSuite(report_log, .init = scratch_make, .fini = drop);

static void read_text(const char *text)
{
    struct error err;
    const char *path = scratch_path("metrics.jsonl");
    scratch_write(path, text, strlen(text));
    cr_assert_eq(report_log_read(&l, path, 1, 2, &err), STATUS_OK, "%s", err.message);
}

Test(report_log, a_log_that_is_not_there_is_empty)
{
    struct error err;
    cr_assert_eq(report_log_read(&l, scratch_path("none"), 1, 2, &err), STATUS_OK, "%s", err.message);
    cr_assert(!l.there && l.last_step == -1 && l.steps.bins == 0 && l.samples.count == 0 && !l.last_eval);
}

Test(report_log, takes_what_is_there_and_counts_what_is_not_sound)
{
    read_text("{\"kind\":\"eval\",\"step\":0,\"val_loss\":3.5,\"sample\":\"a\"}\n"
              "{\"kind\":\"step\",\"step\":1,\"loss\":3,\"entropy\":[[0.5,null]]}\n"
              "no json\n"
              "{\"kind\":\"step\",\"step\":1,\"loss\":9}\n"
              "{\"kind\":\"of a later version\",\"step\":7}\n"
              "{\"step\":8}\n"
              "{\"kind\":\"step\",\"step\":-3,\"loss\":9}\n"
              "{\"kind\":\"step\",\"step\":2,\"loss\":null,\"lr\":0.5,\"entropy\":[[1,2,3]]}\n"
              "{\"kind\":\"eval\",\"step\":2}\n"
              "{\"kind\":\"step\",\"step\":3,\"lo");
    cr_assert(l.there && l.records == 6 && l.unsound == 3, "%zu %zu", l.records, l.unsound);
    cr_assert_eq(l.last_step, 2);
    cr_assert(l.steps.bins == 2 && l.heads.bins == 1 && l.evals.bins == 2);
    double x[2], y[2];
    thin_points(x, y, &l.steps, 1, REPORT_LOSS);
    cr_assert(isnan(y[0]));
    thin_points(x, y, &l.steps, 1, REPORT_LR);
    cr_assert(x[0] == 2 && y[0] == 0.5);
    thin_points(x, y, &l.heads, 0, 1);
    cr_assert(isnan(y[0]));
    thin_points(x, y, &l.evals, 0, REPORT_VAL);
    cr_assert(x[0] == 0 && y[0] == 3.5);
    cr_assert_eq(l.samples.count, 1);
    cr_assert_eq(json_integer_value(json_object_get(l.last_eval, "step")), 2);
}

/* By a hand that means harm: a step beyond any run's is no step, and a number that is no share no entropy. */
Test(report_log, takes_no_step_and_no_entropy_that_training_cannot_have)
{
    read_text("{\"kind\":\"step\",\"step\":4294967295,\"loss\":1,\"entropy\":[[0,1.0000001]]}\n"
              "{\"kind\":\"step\",\"step\":4294967296,\"loss\":2}\n"
              "{\"kind\":\"verdict\",\"step\":9007199254740993}\n"
              "{\"kind\":\"step\",\"step\":9223372036854775807,\"loss\":2}\n");
    cr_assert(l.records == 1 && l.unsound == 3 && l.last_step == 4294967295, "%zu %zu", l.records, l.unsound);
    cr_assert(l.heads.pair[0].high == 0 && l.heads.pair[1].high == 1.0000001);
    report_log_free(&l);
    read_text("{\"kind\":\"step\",\"step\":1,\"entropy\":[[1e308,-0.5]]}\n"
              "{\"kind\":\"step\",\"step\":2,\"entropy\":[[0.5,1.5]]}\n");
    cr_assert(l.records == 2 && l.heads.bins == 2);
    cr_assert(isnan(l.heads.pair[0].high) && isnan(l.heads.pair[1].low) && l.heads.pair[2].high == 0.5 &&
              isnan(l.heads.pair[3].high));
}

/* The first and the last are there, and the others are evenly spread. */
Test(report_log, of_many_samples_some_are_kept_evenly)
{
    for (size_t n = 1; n < 200; n += n < 60 ? 1 : 37) {
        char *text = calloc(n, 80), *at = text;
        for (size_t i = 0; i < n; i++)
            at += sprintf(at, "{\"kind\":\"eval\",\"step\":%zu,\"sample\":\"s\"}\n", i);
        read_text(text);
        const struct report_sift *s = &l.samples;
        cr_assert(s->seen == n && s->count <= REPORT_LOG_SAMPLES + 1 && s->count >= (n < 12 ? n : 12), "%zu of %zu",
                  s->count, n);
        for (size_t i = 0; i < s->count; i++) {
            const json_int_t step = json_integer_value(json_object_get(s->record[i], "step"));
            cr_assert(i + 1 == s->count ? step == (json_int_t)n - 1 : step == (json_int_t)(i * s->stride));
        }
        report_log_free(&l);
        free(text);
    }
}

/* Half a million steps take no more than a few thousand. */
Test(report_log, a_long_log_stays_small_and_keeps_its_spike)
{
    const char *path = scratch_path("metrics.jsonl");
    FILE *f = fopen(path, "w");
    for (int step = 1; step <= 50000; step++)
        fprintf(f, "{\"kind\":\"step\",\"step\":%d,\"loss\":%d,\"entropy\":[[0.5,0.25]]}\n", step,
                step == 31234 ? 99 : 2);
    fclose(f);
    struct error err;
    cr_assert_eq(report_log_read(&l, path, 1, 2, &err), STATUS_OK, "%s", err.message);
    cr_assert(l.records == 50000 && l.steps.bins <= REPORT_LOG_POINTS && l.heads.bins <= REPORT_LOG_POINTS);
    bool found = false;
    for (size_t b = 0; b < l.steps.bins; b++) {
        double x[2], y[2];
        const size_t n = thin_points(x, y, &l.steps, b, REPORT_LOSS);
        for (size_t k = 0; k < n; k++)
            found |= x[k] == 31234 && y[k] == 99;
    }
    cr_assert(found);
}
