#include "cli/report_data.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/report_html.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

static struct error err;
static struct saved saved;
static struct report_log record;
static struct report_film film;
static struct report_entropy entropy = {.train = (double)NAN, .validation = (double)NAN, .why_not = "because"};
static json_t *data, *frames;

static void make(bool leaky)
{
    const struct tiny_run r = {.dir = scratch_path("run"),
                               .text_path = scratch_path("text"),
                               .text = "abc cab bca\nba ac cb\n",
                               .block_size = 8,
                               .leaky = leaky};
    tiny_run_write(&r);
    cr_assert_eq(saved_open(&saved, r.dir, &err), STATUS_OK, "%s", err.message);
}

static void build(const char *log)
{
    const char *path = scratch_path("log");
    scratch_write(path, log, strlen(log));
    cr_assert_eq(report_log_read(&record, path, 2, 2, &err), STATUS_OK, "%s", err.message);
    const struct report_data d = {.saved = &saved,
                                  .log = &record,
                                  .film = &film,
                                  .entropy = &entropy,
                                  .no_kinds = "a reason",
                                  .name = "run\xFF",
                                  .watching = true};
    cr_assert_eq(report_data_make(&data, &frames, &d, &err), STATUS_OK, "%s", err.message);
}

static void drop(void)
{
    json_decref(data);
    json_decref(frames);
    report_log_free(&record);
    saved_close(&saved);
    scratch_remove();
}

TestSuite(report_data, .init = scratch_make, .fini = drop);

static double at(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

Test(report_data, has_the_logs_numbers)
{
    make(false);
    build("{\"kind\":\"step\",\"step\":1,\"loss\":2.1234567,\"lr\":1e-5,\"entropy\":[[0.123456,1],[null,0]]}\n"
          "{\"kind\":\"step\",\"step\":9,\"loss\":null,\"grad_norm\":3}\n"
          "{\"kind\":\"eval\",\"step\":9,\"train_loss\":1.5,\"val_loss\":1.25,\"check\":\"no leak "
          "(x)\",\"sample\":\"<b>\\u0000\"}\n");
    const json_t *loss = report_html_at(data, "curves", "loss", NULL);
    cr_assert(at(json_array_get(loss, 0), 0) == 1 && at(json_array_get(loss, 0), 1) == 9);
    cr_assert_float_eq(at(json_array_get(loss, 1), 0), 2.1234567, 5e-6);
    cr_assert(isnan(at(json_array_get(loss, 1), 1)));
    cr_assert_eq(at(json_array_get(report_html_at(data, "evals", "validation", NULL), 1), 0), 1.25);
    const json_t *values = report_html_at(data, "heads", "values", NULL);
    cr_assert_eq(json_array_size(values), 4);
    cr_assert(at(json_array_get(values, 0), 0) == 0.1235 && isnan(at(json_array_get(values, 2), 0)));
    cr_assert_str_eq(json_string_value(report_html_at(data, "run", "check", NULL)), "no leak (x)");
    cr_assert_eq(json_integer_value(report_html_at(data, "run", "check_step", NULL)), 9);
    cr_assert_eq(json_integer_value(report_html_at(data, "run", "last_step", NULL)), 9);
    cr_assert(json_is_true(report_html_at(data, "run", "watching", NULL)));
    cr_assert(json_is_false(report_html_at(data, "run", "leaky", NULL)));
    cr_assert_str_eq(json_string_value(report_html_at(data, "run", "name", NULL)), "run?");
    const json_t *sample = json_array_get(report_html_at(data, "samples", "shown", NULL), 0);
    cr_assert_eq(json_string_length(json_object_get(sample, "text")), 4);
    cr_assert(json_is_null(report_html_at(data, "kinds", "heads", NULL)));
    cr_assert_str_eq(json_string_value(report_html_at(data, "kinds", "why_not", NULL)), "a reason");
}

Test(report_data, a_long_sample_is_cut_at_a_whole_character_and_says_so)
{
    char log[9000] = "{\"kind\":\"eval\",\"step\":1,\"sample\":\"x";
    for (size_t i = 0; i < 2500; i++)
        strcat(log, "\xC3\xA9"); /* 2 bytes each, after one of one byte */
    strcat(log, "\"}\n");
    make(false);
    build(log);
    const json_t *sample = json_array_get(report_html_at(data, "samples", "shown", NULL), 0);
    cr_assert_eq(json_string_length(json_object_get(sample, "text")), 3999);
    cr_assert_eq(json_integer_value(json_object_get(sample, "left_out")), 1002);
}

/* Numbers near the largest that there is have no more digits than others, and none is written that JSON lacks. */
Test(report_data, the_largest_numbers_are_numbers_still)
{
    make(false);
    build("{\"kind\":\"step\",\"step\":1,\"loss\":1.7976931348623157e308,\"lr\":5e-324,\"grad_norm\":-1e308,"
          "\"entropy\":[[1e308,0.5],[0.5,0.5]]}\n");
    const json_t *curves = report_html_at(data, "curves", NULL);
    cr_assert_eq(at(json_array_get(json_object_get(curves, "lr"), 1), 0), 5e-324);
    cr_assert_eq(at(json_array_get(json_object_get(curves, "grad_norm"), 1), 0), -1e308);
    const json_t *values = report_html_at(data, "heads", "values", NULL);
    cr_assert(isnan(at(json_array_get(values, 0), 0)) && at(json_array_get(values, 1), 0) == 0.5);
}

Test(report_data, a_check_longer_than_any_sentence_is_cut)
{
    char log[5000] = "{\"kind\":\"eval\",\"step\":1,\"check\":\"no leak";
    memset(log + strlen(log), 'x', 3000);
    strcat(log, "\"}\n");
    make(false);
    build(log);
    cr_assert_eq(json_string_length(report_html_at(data, "run", "check", NULL)), sizeof err.message);
}

Test(report_data, without_a_log_the_checkpoint_says_what_it_knows)
{
    make(true);
    build("");
    cr_assert(json_is_true(report_html_at(data, "run", "leaky", NULL)));
    cr_assert_eq(json_integer_value(report_html_at(data, "run", "last_step", NULL)), -1);
    cr_assert_eq(json_integer_value(report_html_at(data, "run", "step", NULL)), 7);
    cr_assert_str_eq(json_string_value(report_html_at(data, "run", "check", NULL)), "leak: layer 0");
    cr_assert_eq(json_integer_value(report_html_at(data, "model", "vocab_size", NULL)), 5);
    cr_assert_float_eq(json_number_value(report_html_at(data, "uniform", NULL)), log(5), 1e-12);
    cr_assert_eq(json_array_size(frames), 0);
}

/* Of bins that hold several records both extremes stand there, in the order in which they came. */
Test(report_data, thinned_heads_have_two_columns_a_bin)
{
    char *log = calloc(700, 80), *end = log;
    for (int step = 1; step <= 700; step++)
        end += sprintf(end, "{\"kind\":\"step\",\"step\":%d,\"entropy\":[[%g,0.5],[0.5,0.5]]}\n", step,
                       step == 300 ? 1.0 : 0.25);
    make(false);
    build(log);
    free(log);
    const json_t *heads = report_html_at(data, "heads", NULL),
                 *row = json_array_get(json_object_get(heads, "values"), 0);
    const size_t bins = json_array_size(json_object_get(heads, "first"));
    cr_assert_eq(json_integer_value(json_object_get(heads, "columns")), 2);
    cr_assert_eq(json_array_size(row), 2 * bins);
    double most = 0;
    for (size_t i = 0; i < 2 * bins; i++)
        most = fmax(most, at(row, i));
    cr_assert_eq(most, 1);
    cr_assert_eq(at(json_object_get(heads, "last"), bins - 1), 700);
}

Test(report_data, has_what_training_said_of_heads_that_there_are)
{
    make(false);
    build("{\"kind\":\"verdict\",\"step\":3,\"verdict\":\"dead\",\"layer\":1,\"heads\":[0,1,2,-1,\"x\"],\"says\":\"it "
          "adds "
          "<nothing>\",\"advice\":\"go\"}\n"
          "{\"kind\":\"verdict\",\"step\":3,\"verdict\":7,\"layer\":9,\"heads\":[0]}\n");
    const json_t *shown = report_html_at(data, "verdicts", "shown", NULL), *one = json_array_get(shown, 0),
                 *odd = json_array_get(shown, 1), *heads = json_object_get(one, "heads");
    cr_assert(json_array_size(shown) == 2 && json_array_size(heads) == 2);
    cr_assert(at(heads, 0) == 2 && at(heads, 1) == 3 && json_integer_value(json_object_get(one, "step")) == 3);
    cr_assert_str_eq(json_string_value(json_object_get(one, "says")), "it adds <nothing>");
    cr_assert_str_eq(json_string_value(json_object_get(odd, "verdict")), "");
    cr_assert_eq(json_array_size(json_object_get(odd, "heads")), 0);
    cr_assert_eq(json_integer_value(report_html_at(data, "run", "last_step", NULL)), 3);
}
