#include "model/laps.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

static void make(struct tiny *t, int threads)
{
    struct config c = config_make(2, 2, 8, 6, 7);
    c.dropout = 0.1;
    c.precision = PRECISION_BF16; /* which has one operation more */
    tiny_make(t, &c, 1, 3, 6, threads);
}

static const struct gpt_pass training = {.training = true, .seed = 3};

/* Passes that an operation has. */
static const bool expected[LAPS_OPERATIONS][LAPS_PASSES] = {
    [LAPS_EMBEDDING] = {true, true, true},
    [LAPS_LAYERNORM] = {true, true, true},
    [LAPS_QKV] = {true, true, true},
    [LAPS_ATTENTION] = {true, true},
    [LAPS_PROJ] = {true, true, true},
    [LAPS_FC] = {true, true, true},
    [LAPS_GELU] = {true, true},
    [LAPS_FC_OUT] = {true, true, true},
    [LAPS_RESIDUAL] = {true, true},
    [LAPS_HEAD] = {true, true, true},
    [LAPS_LOSS] = {true, true},
    [LAPS_PACK] = {true, true},
    [LAPS_WAIT] = {true},
};

Test(laps, every_operation_of_a_pass_takes_its_time_and_nothing_is_left_over)
{
    for (int threads = 1; threads <= 2; threads++) {
        struct tiny t;
        make(&t, threads);
        real *grads = calloc(t.model.table.size, sizeof *grads);
        struct laps laps;
        t.work.laps = &laps;
        laps_start(&laps);
        const double begin = laps.since;
        for (int step = 0; step < 50; step++) /* some clocks tick once a microsecond */
            tiny_step(&t, &training, grads);
        for (int o = 0; o < LAPS_OPERATIONS; o++)
            for (int p = 0; p < LAPS_PASSES; p++)
                cr_expect_eq(laps.seconds[o][p] > 0, expected[o][p], "%s, pass %d", laps_name((enum laps_operation)o),
                             p);
        cr_expect_float_eq(laps_total(&laps), laps.since - begin, 1e-6);
        free(grads);
        tiny_free(&t);
    }
}

Test(laps, taking_times_changes_no_bit)
{
    struct tiny t;
    make(&t, 2);
    const size_t size = t.model.table.size;
    real *without = calloc(size, sizeof *without), *with = calloc(size, sizeof *with);
    tiny_step(&t, &training, without);
    struct laps laps;
    laps_start(&laps);
    t.work.laps = &laps;
    tiny_step(&t, &training, with);
    cr_assert_eq(memcmp(without, with, size * sizeof *with), 0);
    free(without);
    free(with);
    tiny_free(&t);
}

Test(laps, a_lap_ends_where_the_next_begins_and_only_lane_0_counts)
{
    struct laps laps;
    laps_start(&laps);
    const struct lane second = {.index = 1, .count = 2};
    laps_take(&second, &laps, LAPS_GELU, LAPS_INPUT);
    cr_assert_eq(laps_total(&laps), 0);
    laps_take(&lane_alone, NULL, LAPS_GELU, LAPS_INPUT);
    const double begin = laps.since;
    laps_take(&lane_alone, &laps, LAPS_GELU, LAPS_INPUT);
    const double middle = laps.since;
    laps_take(&lane_alone, &laps, LAPS_GELU, LAPS_WEIGHT);
    cr_assert_eq(laps.seconds[LAPS_GELU][LAPS_INPUT], middle - begin);
    cr_assert_eq(laps.seconds[LAPS_GELU][LAPS_WEIGHT], laps.since - middle);
    cr_assert_eq(laps_of(&laps, LAPS_GELU), laps_total(&laps));
}

Test(laps, operations_have_names_of_their_own)
{
    for (int a = 0; a < LAPS_OPERATIONS; a++)
        for (int b = 0; b < a; b++)
            cr_assert_str_neq(laps_name((enum laps_operation)a), laps_name((enum laps_operation)b));
}
