#include "diag/attention_map.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/machine.h"
#include "support/tiny.h"

#define LENGTH ((size_t)37)
#define LAYERS ((size_t)2)
#define HEADS 3

static void make(struct tiny *t)
{
    const struct config c = config_make(LAYERS, HEADS, 24, LENGTH, 13);
    tiny_make(t, &c, 1, 1, LENGTH, 1);
}

static enum status look(struct attention_map *m, const struct tiny *t, struct error *err)
{
    return attention_map_make(m, &t->model, t->tokens, LENGTH, support_team(2), err);
}

static void expect_sound(const struct attention_map *m)
{
    for (size_t k = 0; k < LAYERS * HEADS; k++) {
        const real *p = attention_map_weights(m, k / HEADS, k % HEADS);
        double entropy[LENGTH];
        const struct attention_map_head h = attention_map_head(entropy, m, k / HEADS, k % HEADS);
        for (size_t i = 0; i < LENGTH; i++) {
            double sum = 0;
            for (size_t j = 0; j < LENGTH; j++) {
                sum += (double)p[i * LENGTH + j];
                cr_assert(j <= i || p[i * LENGTH + j] == 0, "exactly 0 beyond the query");
            }
            cr_assert_float_eq(sum, 1, 1e-6);
            cr_assert(i == 0 ? isnan(entropy[i]) : entropy[i] >= 0 && entropy[i] <= 1, "row %zu: %g", i, entropy[i]);
        }
        cr_assert_eq(p[0], 1, "the first sees itself alone");
        cr_assert(h.future_mass == 0 && h.row_error <= 1e-6 && h.entropy >= 0 && h.entropy <= 1);
    }
}

Test(attention_map, rows_sum_to_1_and_are_0_beyond_the_query)
{
    struct tiny t;
    struct attention_map m;
    struct error err;
    make(&t);
    cr_assert_eq(look(&m, &t, &err), STATUS_OK, "%s", err.message);
    expect_sound(&m);
    attention_map_free(&m);
    tiny_free(&t);
}

Test(attention_map, scores_three_hundred_times_as_large_change_nothing_of_that)
{
    struct tiny t;
    struct attention_map m;
    struct error err;
    make(&t);
    for (size_t layer = 0; layer < LAYERS; layer++)
        tiny_sharpen(&t, layer, 300);
    cr_assert_eq(look(&m, &t, &err), STATUS_OK, "%s", err.message);
    expect_sound(&m);
    attention_map_free(&m);
    tiny_free(&t);
}

/* The kernel's own log comes out of the same loop as its weights; the map's entropy is summed from the weights. */
Test(attention_map, entropy_is_what_the_tiled_attention_logs)
{
    struct tiny t;
    struct attention_map m;
    struct error err;
    double logged[LAYERS * HEADS], score[LAYERS * HEADS];
    make(&t);
    cr_assert_eq(look(&m, &t, &err), STATUS_OK, "%s", err.message);
    gpt_forward(&t.model, &t.work, t.tokens, 1, LENGTH, &gpt_evaluating);
    gpt_attention_summary(logged, score, &t.model, &t.work, 1, LENGTH);
    for (size_t k = 0; k < LAYERS * HEADS; k++)
        cr_assert_float_eq(attention_map_head(NULL, &m, k / HEADS, k % HEADS).entropy, logged[k], 1e-5);
    attention_map_free(&m);
    tiny_free(&t);
}

Test(attention_map, a_head_that_sees_its_future_shows)
{
    struct tiny t;
    struct attention_map m;
    struct error err;
    make(&t);
    t.model.rules[4] = ATTENTION_FULL;
    cr_assert_eq(look(&m, &t, &err), STATUS_OK, "%s", err.message);
    for (size_t k = 0; k < LAYERS * HEADS; k++) {
        const double mass = attention_map_head(NULL, &m, k / HEADS, k % HEADS).future_mass;
        cr_assert(k == 4 ? mass > 0.1 : mass == 0, "head %zu: %g", k, mass);
    }
    attention_map_free(&m);
    tiny_free(&t);
}

/* Planted: weights that were masked after the softmax do not sum to 1. */
Test(attention_map, a_row_that_does_not_sum_to_1_is_refused_by_name)
{
    struct tiny t;
    struct attention_map m;
    struct error err;
    const struct fault fault = {.attention = ATTENTION_FAULT_AFTER_SOFTMAX, .layer = 1, .head = 2};
    make(&t);
    t.model.fault = &fault;
    cr_assert_eq(look(&m, &t, &err), STATUS_RANGE);
    cr_assert(strstr(err.message, "layer 1 head 2") && strstr(err.message, "position 0"), "%s", err.message);
    tiny_free(&t);
}

Test(attention_map, weights_that_are_no_numbers_are_refused_by_name)
{
    struct tiny t;
    struct attention_map m;
    struct error err;
    make(&t);
    tiny_tensor(&t, t.model.params, PARAMS_QKV, 1)[0] = (real)NAN;
    cr_assert_eq(look(&m, &t, &err), STATUS_NONFINITE);
    cr_assert(strstr(err.message, "layer 1 head 0"), "%s", err.message);
    tiny_free(&t);
}

Test(attention_map, entropy_of_zeros_ones_and_equals)
{
    const real one[] = {0, 1, 0}, equal[] = {0.25, 0.25, 0.25, 0.25}, half[] = {0.5, 0, 0.5};
    cr_assert_eq(attention_map_entropy(one, 3), 0, "0 ln 0 is 0");
    cr_assert_float_eq(attention_map_entropy(equal, 4), log(4), 1e-12);
    cr_assert_float_eq(attention_map_entropy(half, 3), log(2), 1e-12);
}
