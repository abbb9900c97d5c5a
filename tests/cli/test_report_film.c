#include "cli/report_film.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/attention_pack.h"
#include "io/commit.h"
#include "support/machine.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

static struct error err;
static struct saved saved;
static struct report_log record;
static struct report_film film;

/* A run of 1 layer, 2 heads, context 8, with evaluations and checkpoints at 0, 5, 10, 15 and 20. */
static void make(void)
{
    scratch_make();
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--eval-interval", "5", "--keep", "0");
    cr_assert_eq(saved_open(&saved, run, &err), STATUS_OK, "%s", err.message);
}

static void drop(void)
{
    report_film_free(&film);
    report_log_free(&record);
    saved_close(&saved);
    scratch_remove();
}

TestSuite(report_film, .init = make, .fini = drop);

static void read_log(void)
{
    cr_assert_eq(report_log_read(&record, scratch_path("run/metrics.jsonl"), 1, 2, &err), STATUS_OK, "%s", err.message);
}

static void look(struct report_film *f, const char *text)
{
    const struct whole_text words = {.bytes = (char *)text, .size = text ? strlen(text) : 0, .name = "--text"};
    const struct report_film_settings s = {.text = text ? &words : NULL, .team = support_team(1)};
    cr_assert_eq(report_film_make(f, &saved, &record, &s, &err), STATUS_OK, "%s", err.message);
}

static void expect_steps(const struct report_film *f)
{
    cr_assert(f->T == 8 && f->count == 5 && f->steps == 5, "%zu %zu %zu", f->T, f->count, f->steps);
    for (size_t k = 0; k < f->count; k++) {
        cr_assert_eq(f->frame[k].step, 5 * k);
        cr_assert(!f->frame[k].square);
        cr_assert_eq(strlen(f->frame[k].weights), attention_pack_bytes(2, 8, false));
    }
}

/* What training recorded and what its checkpoints give are the same bits, at every step. */
Test(report_film, the_logs_maps_are_those_of_the_checkpoints)
{
    struct report_film kept;
    read_log();
    look(&film, NULL);
    cr_assert(film.from_log);
    expect_steps(&film);
    report_log_free(&record);
    cr_assert_eq(report_log_read(&record, scratch_path("nothing"), 1, 2, &err), STATUS_OK);
    look(&kept, NULL);
    cr_assert_not(kept.from_log);
    expect_steps(&kept);
    for (size_t k = 0; k < 5; k++) {
        cr_assert_str_eq(film.frame[k].weights, kept.frame[k].weights);
        cr_assert(k == 0 || strcmp(film.frame[k].weights, film.frame[k - 1].weights) != 0, "training changes them");
    }
    for (size_t i = 0; i < 8; i++)
        cr_assert_str_eq(film.label[i], kept.label[i]);
    report_film_free(&kept);
}

Test(report_film, of_a_text_that_is_too_long_the_end_is_shown)
{
    read_log();
    look(&film, "abcdeabcdea, gab");
    cr_assert(!film.from_log && film.T == 8 && film.before == 8 && film.count == 5);
    cr_assert_str_eq(film.label[2], "a");
    cr_assert_str_eq(film.label[3], ",");
    report_film_free(&film);
    look(&film, "ab");
    cr_assert(film.T == 2 && film.before == 0);
}

Test(report_film, an_unknown_symbol_is_refused_and_so_is_no_text)
{
    read_log();
    const struct whole_text odd = {.bytes = (char *)"abZ", .size = 3, .name = "--text"},
                            none = {.bytes = (char *)"", .name = "--text"};
    struct report_film_settings s = {.text = &odd, .team = support_team(1)};
    cr_assert_eq(report_film_make(&film, &saved, &record, &s, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "--text") && strchr(err.message, 'Z'), "%s", err.message);
    report_film_free(&film);
    s.text = &none;
    cr_assert_eq(report_film_make(&film, &saved, &record, &s, &err), STATUS_USAGE);
}

/* A record whose weights are too few, or no base64, or of another model, or whose text has no symbols' names, is passed
 * over. */
Test(report_film, records_that_do_not_fit_are_passed_over)
{
    char *log = scratch_read(scratch_path("run/metrics.jsonl"), NULL), more[600];
    snprintf(
        more, sizeof more,
        "{\"kind\":\"attention\",\"step\":21,\"shape\":\"lower\",\"labels\":[\"a\",\"b\"],\"weights\":\"AAAA\"}\n"
        "{\"kind\":\"attention\",\"step\":22,\"shape\":\"lower\",\"labels\":[\"a\"],\"weights\":\"AAAAAAA<AAA=\"}\n"
        "{\"kind\":\"attention\",\"step\":23,\"shape\":\"round\",\"labels\":[\"a\"],\"weights\":\"AAAAAAAAAAA=\"}\n"
        "{\"kind\":\"attention\",\"step\":24,\"shape\":\"lower\",\"labels\":[7],\"weights\":\"AAAAAAAAAAA=\"}\n"
        "{\"kind\":\"attention\",\"step\":25,\"shape\":\"lower\",\"labels\":[\"sixteen letters.\"],"
        "\"weights\":\"AAAAAAAAAAA=\"}\n");
    char *all = malloc(strlen(log) + strlen(more) + 1);
    strcpy(all, log);
    strcat(all, more);
    scratch_write(scratch_path("run/metrics.jsonl"), all, strlen(all));
    read_log();
    look(&film, NULL);
    cr_assert(film.from_log && film.T == 8 && film.count == 5 && film.frame[4].step == 20);
    free(all);
    free(log);
}

/* Resumed by another version, a run may have records of two texts: the later one counts. */
Test(report_film, of_two_texts_the_later_is_shown)
{
    char *log = scratch_read(scratch_path("run/metrics.jsonl"), NULL);
    char *all = malloc(strlen(log) + 200);
    strcpy(all, log);
    strcat(
        all,
        "{\"kind\":\"attention\",\"step\":25,\"shape\":\"lower\",\"labels\":[\"<b>\"],\"weights\":\"AACAPwAAgD8=\"}\n");
    scratch_write(scratch_path("run/metrics.jsonl"), all, strlen(all));
    read_log();
    look(&film, NULL);
    cr_assert(film.T == 1 && film.count == 1 && film.frame[0].step == 25 && film.steps == 6);
    cr_assert_str_eq(film.label[0], "<b>");
    free(all);
    free(log);
}

Test(report_film, a_damaged_checkpoint_is_an_error_and_a_text_that_has_gone_a_reason)
{
    cr_assert_eq(report_log_read(&record, scratch_path("nothing"), 1, 2, &err), STATUS_OK);
    scratch_write(scratch_path("run/step-000010/model.safetensors"), "junk", 4);
    const struct report_film_settings s = {.team = support_team(1)};
    cr_assert_neq(report_film_make(&film, &saved, &record, &s, &err), STATUS_OK);
    cr_assert(strstr(err.message, "step-000010"), "%s", err.message);
    report_film_free(&film);
    cr_assert_eq(remove(scratch_path("text.txt")), 0);
    look(&film, NULL);
    cr_assert(film.T == 0 && film.count == 0 && strstr(film.why_not, "text.txt"), "%s", film.why_not);
}
