#include "io/metrics.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"

TestSuite(metrics, .init = scratch_make, .fini = scratch_remove);

static void expect_log(const char *text)
{
    char *found = scratch_read(scratch_path("metrics.jsonl"), NULL);
    cr_assert_str_eq(found, text);
    free(found);
}

static void put_log(const char *text)
{
    scratch_write(scratch_path("metrics.jsonl"), text, strlen(text));
}

static void open_close(long long keep_through)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_folder(), keep_through, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK, "%s", err.message);
}

static json_t *record(int step, double loss)
{
    return json_pack("{s:s, s:i, s:o}", "kind", "step", "step", step, "loss", metrics_number(loss));
}

Test(metrics, each_record_is_one_line_at_once)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_append(&m, record(1, 0.1), &err), STATUS_OK, "%s", err.message);
    expect_log("{\"kind\":\"step\",\"step\":1,\"loss\":0.1}\n");
    json_t *sample = json_pack("{s:s}", "sample", "two\nlines");
    cr_assert_eq(metrics_append(&m, sample, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK, "closing twice");
    expect_log("{\"kind\":\"step\",\"step\":1,\"loss\":0.1}\n{\"sample\":\"two\\nlines\"}\n");
}

Test(metrics, numbers_that_json_lacks_become_null)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_append(&m, record(1, NAN), &err), STATUS_OK);
    cr_assert_eq(metrics_append(&m, record(2, -INFINITY), &err), STATUS_OK);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
    expect_log("{\"kind\":\"step\",\"step\":1,\"loss\":null}\n{\"kind\":\"step\",\"step\":2,\"loss\":null}\n");
}

Test(metrics, any_float_reads_back_as_itself)
{
    struct error err;
    struct metrics m;
    const float values[] = {1.0f / 3, 0x1.fffffep127f, 0x1p-149f, 4.1743875f, 16777217.0f, -0.1f};
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK);
    for (size_t i = 0; i < 6; i++)
        cr_assert_eq(metrics_append(&m, json_pack("[o]", metrics_number((double)values[i])), &err), STATUS_OK);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
    char *text = scratch_read(scratch_path("metrics.jsonl"), NULL), *line = text;
    for (size_t i = 0; i < 6; i++) {
        json_t *row = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        cr_assert_eq((float)json_real_value(json_array_get(row, 0)), values[i]);
        json_decref(row);
        line = strchr(line, '\n') + 1;
    }
    free(text);
}

Test(metrics, resuming_cuts_what_came_after_and_keeps_the_rest_byte_for_byte)
{
    put_log("{\"kind\":\"start\"}\n{\"step\": 9, "
            "\"loss\":1.50}\n{\"step\":10}\n{\"step\":11}\n{\"kind\":\"eval\",\"step\":10}\n");
    open_close(10);
    expect_log("{\"kind\":\"start\"}\n{\"step\": 9, \"loss\":1.50}\n{\"step\":10}\n{\"kind\":\"eval\",\"step\":10}\n");
    open_close(9);
    expect_log("{\"kind\":\"start\"}\n{\"step\": 9, \"loss\":1.50}\n");
    open_close(0);
    expect_log("{\"kind\":\"start\"}\n");
}

Test(metrics, half_written_last_line_is_cut_at_any_length)
{
    struct error err;
    struct metrics m;
    const char *whole = "{\"step\":1}\n{\"step\":2}";
    for (size_t n = 11; n <= 21; n++) {
        scratch_write(scratch_path("metrics.jsonl"), whole, n);
        cr_assert_eq(metrics_open(&m, scratch_folder(), 5, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(metrics_append(&m, json_pack("{s:i}", "step", 3), &err), STATUS_OK);
        cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
        expect_log(n == 21 ? "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n" : "{\"step\":1}\n{\"step\":3}\n");
    }
}

Test(metrics, starting_anew_empties_the_log)
{
    put_log("<html>\n");
    open_close(-1);
    expect_log("");
    open_close(7);
    expect_log("");
}

/* The log is a record of the run and not a part of it: damage in it costs no line that is sound, and not the run. */
Test(metrics, a_damaged_log_is_kept_beside_and_its_sound_records_go_on)
{
    const struct {
        const char *text, *kept;
        size_t first, unsound;
    } cases[] = {
        {"{\"step\":1}\n[2]\n{\"step\":3}\n", "{\"step\":1}\n{\"step\":3}\n", 2, 1},
        {"\n{\"step\":1}\n\n", "{\"step\":1}\n", 1, 2},
        {"{\"step\":1}\n{\"step\":2,\"step\":3}\n", "{\"step\":1}\n", 2, 1},
        {"{\"step\":1}\n{\"step\":\"2\"}\n{\"step\":99}\n{\"st", "{\"step\":1}\n", 2, 1},
        {"{\"step\":1.5}\n", "", 1, 1},
        {"{\"step\":1}\n{\"a\":\"\xff\xfe\"}\n", "{\"step\":1}\n", 2, 1},
        {"{\"a\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}\n{\"step\":2}", "{\"step\":2}\n", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err;
        struct metrics m;
        put_log(cases[i].text);
        cr_assert_eq(metrics_open(&m, scratch_folder(), 10, &err), STATUS_OK, "%s: %s", cases[i].text, err.message);
        cr_assert_not_null(m.aside, "%s", cases[i].text);
        cr_assert(m.first_unsound == cases[i].first && m.unsound == cases[i].unsound, "line %zu, %zu lines of %s",
                  m.first_unsound, m.unsound, cases[i].text);
        char *old = scratch_read(m.aside, NULL);
        cr_assert_str_eq(old, cases[i].text, "nothing is lost");
        free(old);
        cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
        expect_log(cases[i].kept);
        open_close(10); /* sound now: nothing more is moved */
        expect_log(cases[i].kept);
        cr_assert_eq(scratch_count(scratch_folder()), i + 2, "one more .old each time");
    }
}

Test(metrics, a_line_of_a_gigabyte_or_of_zero_bytes_costs_neither_memory_nor_the_run)
{
    struct error err;
    struct metrics m;
    put_log("{\"step\":1}\n");
    cr_assert_eq(truncate(scratch_path("metrics.jsonl"), (off_t)1 << 30), 0, "a hole of that size takes no room");
#ifndef NOPEEK_SANITIZED
    const struct rlimit limit = {.rlim_cur = (rlim_t)768 << 20, .rlim_max = (rlim_t)768 << 20};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
#endif
    cr_assert_eq(metrics_open(&m, scratch_folder(), 10, &err), STATUS_OK, "%s", err.message);
    cr_assert_null(m.aside, "a last line without its end is a crash's doing");
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
    expect_log("{\"step\":1}\n");
}

Test(metrics, a_damaged_log_that_cannot_be_replaced_stays_in_its_place)
{
    struct error err;
    struct metrics m;
    const char *text = "{\"step\":1,\"loss\":0.5,\"lr\":0.001}\nx\n";
    put_log(text);
    const struct rlimit limit = {.rlim_cur = 15, .rlim_max = RLIM_INFINITY};
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(metrics_open(&m, scratch_folder(), 10, &err), STATUS_WRITE);
    cr_assert(!m.file && !m.aside && !m.path);
    expect_log(text);
    cr_assert_eq(scratch_count(scratch_folder()), 1);
}

Test(metrics, line_that_does_not_fit_is_cut_off_again)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK);
    cr_assert_eq(metrics_append(&m, json_pack("{s:i}", "step", 1), &err), STATUS_OK);
    const struct rlimit limit = {.rlim_cur = 15, .rlim_max = RLIM_INFINITY};
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(metrics_append(&m, json_pack("{s:i}", "step", 2), &err), STATUS_WRITE);
    cr_assert_not_null(strstr(err.message, "metrics.jsonl"), "%s", err.message);
    expect_log("{\"step\":1}\n");
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK, "%s", err.message);
    expect_log("{\"step\":1}\n");
}

Test(metrics, record_that_could_not_be_made_is_an_error)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK);
    cr_assert_eq(metrics_append(&m, NULL, &err), STATUS_MEMORY);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
}

Test(metrics, what_is_no_file_is_refused, .timeout = 10)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_path("missing"), -1, &err), STATUS_OPEN);
    cr_assert_eq(mkfifo(scratch_path("metrics.jsonl"), 0666), 0);
    cr_assert_eq(metrics_open(&m, scratch_folder(), 3, &err), STATUS_OPEN);
    cr_assert_null(m.path);
}

Test(metrics, records_are_built_key_by_key)
{
    struct error err;
    struct metrics m;
    const double grid[6] = {1, 0.5, NAN, 0, 0.25, -1};
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK);
    json_t *r = metrics_record("eval", 3);
    metrics_put(&r, "val_loss", 1.5);
    metrics_put_text(&r, "sample", "a\0b", 3);
    metrics_put_grid(&r, "entropy", grid, 2, 3);
    cr_assert_eq(metrics_append(&m, r, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
    expect_log("{\"kind\":\"eval\",\"step\":3,\"val_loss\":1.5,\"sample\":\"a\\u0000b\","
               "\"entropy\":[[1.0,0.5,null],[0.0,0.25,-1.0]]}\n");
    open_close(3);
}
