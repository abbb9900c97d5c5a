/* Building the records of metrics.jsonl: metrics_record and metrics_put... */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/metrics.h"
#include "support/scratch.h"

TestSuite(metrics_record, .init = scratch_make, .fini = scratch_remove);

static void expect(json_t *record, const char *text)
{
    cr_assert_not_null(record);
    char *found = json_dumps(record, JSON_COMPACT);
    cr_assert_str_eq(found, text);
    free(found);
    json_decref(record);
}

Test(metrics_record, keys_stand_in_the_order_they_were_put)
{
    const double grid[] = {0.5, (double)NAN, -INFINITY, 4, 5, 0};
    json_t *record = metrics_record("eval", 12);
    metrics_put(&record, "z", 0.25);
    metrics_put(&record, "a", (double)NAN);
    metrics_put_text(&record, "text", "a\xc3\xa9\"\n<", 6);
    metrics_put_grid(&record, "grid", grid, 2, 3);
    metrics_put_grid(&record, "none", grid, 0, 3);
    expect(record, "{\"kind\":\"eval\",\"step\":12,\"z\":0.25,\"a\":null,\"text\":\"a\xc3\xa9\\\"\\n<\","
                   "\"grid\":[[0.5,null,null],[4.0,5.0,0.0]],\"none\":[]}");
}

Test(metrics_record, a_step_beyond_32_bits_is_kept)
{
    expect(metrics_record("step", 5000000000), "{\"kind\":\"step\",\"step\":5000000000}");
}

Test(metrics_record, text_that_is_not_utf8_gives_the_record_up)
{
    json_t *record = metrics_record("step", 1);
    metrics_put_text(&record, "sample", "\xff", 1);
    cr_assert_null(record);
    metrics_put(&record, "loss", 1); /* and putting more is harmless */
    metrics_put_grid(&record, "grid", (const double[]){1}, 1, 1);
    metrics_put_text(&record, "sample", "a", 1);
    cr_assert_null(record);
}

static size_t allocations, refused;

static void *refuse_one(size_t n)
{
    return allocations++ == refused ? NULL : malloc(n);
}

Test(metrics_record, refused_memory_gives_a_whole_record_or_none)
{
    static const char whole[] =
        "{\"kind\":\"step\",\"step\":3,\"loss\":1.5,\"sample\":\"ab\",\"entropy\":[[0.5,1.0,2.0],[3.0,"
        "4.0,5.0],[6.0,7.0,8.0]]}";
    const double grid[] = {0.5, 1, 2, 3, 4, 5, 6, 7, 8};
    bool reached_end = false;
    for (refused = 0; !reached_end && refused < 1000; refused++) {
        json_set_alloc_funcs(refuse_one, free);
        allocations = 0;
        json_t *record = metrics_record("step", 3);
        metrics_put(&record, "loss", 1.5);
        metrics_put_text(&record, "sample", "ab", 2);
        metrics_put_grid(&record, "entropy", grid, 3, 3);
        reached_end = allocations <= refused;
        json_set_alloc_funcs(malloc, free);
        cr_assert(record || !reached_end);
        if (record)
            expect(record, whole);
    }
    cr_assert(reached_end && refused > 20, "%zu", refused);
}

Test(metrics_record, what_was_put_is_what_is_read_from_the_log)
{
    struct error err;
    struct metrics m;
    cr_assert_eq(metrics_open(&m, scratch_folder(), -1, &err), STATUS_OK, "%s", err.message);
    json_t *record = metrics_record("step", 1);
    metrics_put(&record, "loss", (double)(1.0f / 3));
    cr_assert_eq(metrics_append(&m, record, &err), STATUS_OK);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
    json_t *read = json_load_file(scratch_path("metrics.jsonl"), 0, NULL);
    cr_assert_eq((float)json_number_value(json_object_get(read, "loss")), 1.0f / 3);
    json_decref(read);
}
