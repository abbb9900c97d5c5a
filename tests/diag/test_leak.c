#include "diag/leak.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/tiny.h"

/* A model and the shape it is checked in. */
struct shape {
    size_t L, H, C, T, V, B;
    bool bias, untied;
    double dropout;
    int threads;
};

static struct leak_report report;

static void make(struct tiny *t, const struct shape *s)
{
    struct config c = config_make(s->L, s->H, s->C, s->T, s->V);
    c.bias = s->bias;
    c.tied = !s->untied;
    c.dropout = s->dropout;
    tiny_make(t, &c, 1, s->B, s->T, s->threads ? s->threads : 1);
}

static void check(struct tiny *t, enum leak_effort effort, uint32_t step)
{
    struct error err;
    cr_assert_eq(leak_check(&report, &t->model, &t->work, effort, 17, step, &err), STATUS_OK, "%s", err.message);
}

static const char *verdict(void)
{
    static char text[1024];
    leak_describe(text, sizeof text, &report);
    return text;
}

static void expect_clean(struct tiny *t, const char *what)
{
    const size_t size = t->model.table.size * sizeof(real);
    real *before = malloc(size);
    cr_assert_not_null(before);
    memcpy(before, t->model.params, size);
    for (int effort = LEAK_QUICK; effort <= LEAK_FULL; effort++) {
        check(t, (enum leak_effort)effort, 3);
        cr_assert(!report.leak && !report.suffix_leaks && !report.gradient_leaks, "%s: %s", what, verdict());
        cr_assert(report.places == 0 && report.suffix_change == 0 && report.gradient_size == 0);
        cr_assert_eq(strncmp(verdict(), "no leak (", 9), 0, "%s", verdict());
    }
    cr_assert_eq(memcmp(before, t->model.params, size), 0, "the model is left as it was");
    free(before);
}

static const struct shape SHAPES[] = {
    {1, 1, 4, 1, 3, 2, .bias = true},
    {1, 1, 4, 2, 3, 1, .bias = true},
    {2, 2, 6, 3, 2, 1, .bias = false},
    {2, 1, 5, 7, 1, 3, .bias = true},
    {1, 3, 9, 11, 5, 1, .bias = true, .dropout = 0.3},
    {2, 2, 10, 17, 13, 5, .untied = true, .threads = 2},
    {1, 2, 8, 16, 65, 4, .dropout = 0.5, .threads = 3},
    {1, 2, 4, 2, 2, 1, .threads = 7},
    {1, 5, 5, 33, 7, 2, .bias = true, .untied = true, .dropout = 0.9},
};
#define COUNT (sizeof SHAPES / sizeof *SHAPES)

Test(leak, correct_models_of_every_shape_pass)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct tiny t;
        char what[32];
        snprintf(what, sizeof what, "shape %zu", i);
        make(&t, &SHAPES[i]);
        expect_clean(&t, what);
        tiny_free(&t);
    }
}

Test(leak, correct_models_pass_as_they_are_initialised)
{
    struct tiny t;
    const struct shape s = {2, 2, 8, 9, 11, 3, .bias = true};
    make(&t, &s);
    params_init(t.model.params, &t.model.table, &t.model.config, 1);
    expect_clean(&t, "fresh");
    tiny_free(&t);
}

Test(leak, scores_far_beyond_any_finite_mask_pass)
{
    for (size_t i = 1; i < COUNT; i++) {
        if (SHAPES[i].threads)
            continue;
        struct tiny t;
        make(&t, &SHAPES[i]);
        for (size_t layer = 0; layer < SHAPES[i].L; layer++)
            tiny_sharpen(&t, layer, (real)(300 * 300 * 20));
        expect_clean(&t, "sharp");
        if (SHAPES[i].T > 8) { /* enough rows for a row whose visible scores are all this low */
            double lowest = 0;
            const size_t rows = SHAPES[i].B * SHAPES[i].H * SHAPES[i].T;
            for (size_t r = 0; r < rows; r++)
                lowest = fmin(lowest, (double)t.work.block[0].rows.max_score[r]);
            cr_assert_lt(lowest, -1e5);
        }
        tiny_free(&t);
    }
}

static real draw(const struct rng_site *site, uint32_t at, uint64_t n)
{
    return (real)rng_below(site, at, n);
}

Test(leak, no_alarm_in_200_random_correct_configurations)
{
    for (uint32_t i = 0; i < 200; i++) {
        const struct rng_site site = {.seed = 23, .purpose = RNG_TEST, .row = i};
        const size_t H = 1 + (size_t)draw(&site, 0, 4);
        const struct shape s = {.L = 1 + (size_t)draw(&site, 1, 3),
                                .H = H,
                                .C = H * (1 + (size_t)draw(&site, 2, 6)),
                                .T = 1 + (size_t)draw(&site, 3, 20),
                                .V = 1 + (size_t)draw(&site, 4, 30),
                                .B = 1 + (size_t)draw(&site, 5, 5),
                                .bias = draw(&site, 6, 2) != 0,
                                .untied = draw(&site, 7, 2) != 0,
                                .dropout = (double)draw(&site, 8, 3) / 4,
                                .threads = 1 + (i % 50 == 0)};
        struct tiny t;
        make(&t, &s);
        const real factor = (real)pow(10, (double)draw(&site, 9, 6)) / 10;
        for (size_t layer = 0; layer < s.L; layer++)
            tiny_sharpen(&t, layer, factor);
        check(&t, i % 2 ? LEAK_FULL : LEAK_QUICK, i);
        cr_assert_not(report.leak, "configuration %u: %s", i, verdict());
        tiny_free(&t);
    }
}

Test(leak, one_head_that_sees_everything_is_found_and_named)
{
    const struct shape shapes[] = {{3, 3, 6, 5, 7, 2, .bias = true},
                                   {3, 3, 6, 5, 7, 1, .untied = true, .dropout = 0.4},
                                   {3, 3, 6, 3, 7, 3, .threads = 2}};
    for (size_t i = 0; i < 3; i++) {
        struct tiny t;
        make(&t, &shapes[i]);
        /* Teams that wait for each other at barriers are slow on a busy machine: one place will do there. */
        for (size_t place = shapes[i].threads ? 7 : 0; place < 9; place += shapes[i].threads ? 9 : 1) {
            t.model.rules[place] = ATTENTION_FULL;
            for (int effort = shapes[i].threads ? LEAK_FULL : LEAK_QUICK; effort <= LEAK_FULL; effort++) {
                char says[80];
                check(&t, (enum leak_effort)effort, 0);
                cr_assert(report.leak && report.suffix_leaks && report.gradient_leaks, "shape %zu place %zu", i, place);
                cr_assert(report.suffix_change > 0 && report.gradient_size > 0);
                cr_assert_eq(report.places, 1, "%s", verdict());
                snprintf(says, sizeof says, "leak: layer %zu head %zu: attention sees all later positions; ", place / 3,
                         place % 3);
                cr_assert_eq(strncmp(verdict(), says, strlen(says)), 0, "\"%s\", not \"%s\"", verdict(), says);
            }
            t.model.rules[place] = ATTENTION_CAUSAL;
        }
        expect_clean(&t, "mended");
        tiny_free(&t);
    }
}

Test(leak, whole_layers_and_whole_models_are_named_head_by_head)
{
    struct tiny t;
    const struct shape s = {2, 4, 8, 6, 5, 2, .bias = true};
    make(&t, &s);
    for (size_t h = 0; h < 4; h++)
        t.model.rules[4 + h] = ATTENTION_FULL;
    check(&t, LEAK_FULL, 0);
    cr_assert_eq(strncmp(verdict(), "leak: layer 1 heads 0-3: attention sees all later positions; ch", 63), 0, "%s",
                 verdict());
    for (size_t h = 0; h < 4; h++)
        t.model.rules[h] = ATTENTION_FULL;
    check(&t, LEAK_FULL, 0);
    cr_assert_eq(report.places, 8);
    cr_assert(strstr(verdict(), "leak: layers 0-1 heads 0-3: attention sees all later positions; changing "), "%s",
              verdict());
    t.model.rules[1] = t.model.rules[4] = ATTENTION_CAUSAL;
    check(&t, LEAK_FULL, 0);
    cr_assert(strstr(verdict(), "leak: layer 0 head 0: attention sees all later positions; layer 0 heads 2-3: "), "%s",
              verdict());
    cr_assert(strstr(verdict(), "; layer 1 heads 1-3: "), "%s", verdict());
    cr_assert(strstr(verdict(), "; changing tokens from position "), "%s", verdict());
    cr_assert(strstr(verdict(), "; gradients to later positions reach "), "%s", verdict());
    tiny_free(&t);
}

Test(leak, the_verdict_never_runs_over_its_buffer)
{
    struct tiny t;
    const struct shape s = {3, 4, 8, 4, 5, 2, .bias = false};
    make(&t, &s);
    for (size_t i = 0; i < 12; i++)
        t.model.rules[i] = i % 2 ? ATTENTION_FULL : ATTENTION_CAUSAL;
    check(&t, LEAK_FULL, 0);
    char whole[1024], cut[1024];
    leak_describe(whole, sizeof whole, &report);
    for (size_t size = 1; size < 400; size++) {
        memset(cut, '#', sizeof cut);
        leak_describe(cut, size, &report);
        cr_assert_lt(strlen(cut), size);
        cr_assert_eq(strncmp(cut, whole, strlen(cut)), 0);
        cr_assert_eq(cut[size], '#');
    }
    tiny_free(&t);
}

Test(leak, the_smallest_future_is_seen)
{
    struct tiny t;
    const struct shape s = {1, 1, 4, 2, 2, 1, .bias = false};
    make(&t, &s);
    t.model.rules[0] = ATTENTION_FULL;
    check(&t, LEAK_QUICK, 0);
    cr_assert(report.suffix_leaks && report.gradient_leaks);
    cr_assert_eq(report.suffix_position, 1);
    cr_assert(strstr(verdict(), "layer 0 head 0: attention sees all later positions"), "%s", verdict());
    tiny_free(&t);
}

Test(leak, with_one_symbol_the_gradient_test_stands_alone)
{
    struct tiny t;
    const struct shape s = {2, 2, 8, 6, 1, 2, .bias = true};
    make(&t, &s);
    check(&t, LEAK_FULL, 0);
    cr_assert_not(report.leak);
    cr_assert_str_eq(verdict(),
                     "no leak (a context or a vocabulary of one symbol leaves nothing to change; gradients to "
                     "later positions exactly 0)");
    t.model.rules[3] = ATTENTION_FULL;
    check(&t, LEAK_FULL, 0);
    cr_assert(report.leak && !report.suffix_leaks && report.gradient_leaks);
    cr_assert(report.places == 1 && report.place[0].layer == 1 && report.place[0].head == 1);
    tiny_free(&t);
}

Test(leak, a_context_of_one_symbol_has_no_future)
{
    struct tiny t;
    const struct shape s = {1, 1, 4, 1, 5, 2, .bias = false};
    make(&t, &s);
    t.model.rules[0] = ATTENTION_FULL;
    check(&t, LEAK_FULL, 0);
    cr_assert_str_eq(verdict(), "no leak (a context or a vocabulary of one symbol leaves nothing to change)");
    tiny_free(&t);
}

Test(leak, what_rounding_hides_from_the_logits_the_gradient_shows)
{
    struct tiny t;
    const struct shape s = {2, 2, 8, 6, 7, 3, .bias = false};
    make(&t, &s);
    t.model.rules[1] = ATTENTION_FULL;
    real *proj = tiny_tensor(&t, t.model.params, PARAMS_PROJ, 0); /* rows 4 .. 7 belong to head 1 */
    for (size_t i = 4 * 8; i < 8 * 8; i++)
        proj[i] *= (real)1e-25;
    check(&t, LEAK_QUICK, 0);
    cr_assert(!report.suffix_leaks && report.gradient_leaks);
    cr_assert_lt(report.gradient_size, 1e-20);
    cr_assert(strstr(verdict(), "leak: layer 0 head 1: attention sees all later positions; gradients"), "%s",
              verdict());
    tiny_free(&t);
}

Test(leak, a_fault_of_the_backward_pass_alone_is_found)
{
    struct tiny t;
    const struct shape s = {3, 2, 8, 6, 7, 3, .bias = false};
    make(&t, &s);
    const struct fault fault = {.attention = ATTENTION_FAULT_BACKWARD_UNMASKED, .layer = 1, .head = FAULT_EVERYWHERE};
    t.model.fault = &fault;
    for (int effort = LEAK_QUICK; effort <= LEAK_FULL; effort++) {
        check(&t, (enum leak_effort)effort, 0);
        cr_assert(!report.suffix_leaks && report.gradient_leaks, "%s", verdict());
        cr_assert(
            strstr(verdict(), "leak: layer 1 heads 0-1: attention (backward pass only) sees all later positions; grad"),
            "%s", verdict());
        cr_assert_eq(report.places, 2);
    }
    tiny_free(&t);
}

/* Attention that looks back to the first symbol from everywhere, but at row `peek` to the next one. Positions are
 * one-hot and large, so that queries and keys are functions of the position; far lower scores are exactly 0. */
static void plant_at(struct tiny *t, size_t peek)
{
    const size_t C = 16, T = t->T;
    real *params = t->model.params, *token = tiny_tensor(t, params, PARAMS_TOKEN_EMBEDDING, 0),
         *position = tiny_tensor(t, params, PARAMS_POSITION_EMBEDDING, 0), *w = tiny_tensor(t, params, PARAMS_QKV, 0),
         *b = tiny_tensor(t, params, PARAMS_QKV_BIAS, 0), *gain = tiny_tensor(t, params, PARAMS_LN1_GAIN, 0),
         *shift = tiny_tensor(t, params, PARAMS_LN1_BIAS, 0);
    for (size_t i = 0; i < t->model.config.vocab_size * C; i++)
        token[i] *= (real)0.1;
    for (size_t i = 0; i < C; i++) {
        gain[i] = 1;
        shift[i] = 0;
    }
    for (size_t i = 0; i < 2 * C; i++) /* b_Q and b_K */
        b[i] = 0;
    for (size_t i = 0; i < C; i++) /* W_Q and W_K */
        memset(w + i * 3 * C, 0, 2 * C * sizeof *w);
    for (size_t i = 0; i < T; i++) {
        for (size_t c = 0; c < C; c++)
            position[i * C + c] = c == i ? 30 : 0;
        w[i * 3 * C + C] = (real)(-1000 * (double)i);    /* k_0: the earlier, the larger */
        w[i * 3 * C + C + 1] = i == peek + 1 ? 1000 : 0; /* k_1: the next after the peeking row */
    }
    w[peek * 3 * C] = -1; /* q_0: 0 in the peeking row only */
    b[0] = (real)(15 / sqrt(15));
    w[peek * 3 * C + 1] = 1; /* q_1: there only */
    t->model.rules[0] = ATTENTION_FULL;
}

Test(leak, a_full_check_tries_every_position)
{
    const size_t lengths[] = {2, 3, 4, 5, 7, 16};
    for (size_t i = 0; i < 6; i++) {
        const size_t T = lengths[i];
        for (size_t B = 1; B <= T + 1; B += B > 3 ? 3 : 1)
            for (size_t peek = 0; peek + 1 < T; peek++) {
                const struct shape s = {1, 1, 16, T, 5, B, .bias = true};
                struct tiny t;
                make(&t, &s);
                plant_at(&t, peek);
                check(&t, LEAK_FULL, 0);
                cr_assert(report.suffix_leaks && report.gradient_leaks, "T %zu B %zu: row %zu: %s", T, B, peek,
                          verdict());
                cr_assert_eq(report.suffix_position, peek + 1, "nothing else leaks");
                tiny_free(&t);
            }
    }
}

Test(leak, a_quick_check_tries_the_first_and_the_last_position_in_a_batch_of_one_too)
{
    for (size_t B = 1; B <= 2; B++)
        for (size_t peek = 0; peek < 15; peek += 14) {
            const struct shape s = {1, 1, 16, 16, 5, B, .bias = true};
            struct tiny t;
            make(&t, &s);
            plant_at(&t, peek);
            check(&t, LEAK_QUICK, 0);
            cr_assert(report.suffix_leaks && report.gradient_leaks, "B %zu: row %zu: %s", B, peek, verdict());
            tiny_free(&t);
        }
}

Test(leak, what_cannot_be_judged_is_an_error)
{
    const struct shape s = {2, 2, 8, 6, 7, 2, .bias = false};
    const real spoils[] = {(real)NAN, (real)INFINITY};
    for (size_t i = 0; i < 2; i++)
        for (size_t kind = PARAMS_LN1_GAIN; kind <= PARAMS_FC_OUT; kind++) {
            struct tiny t;
            struct error err;
            make(&t, &s);
            real *x = tiny_tensor(&t, t.model.params, (enum params_kind)kind, 1);
            if (x) {
                x[0] = spoils[i];
                cr_assert_eq(leak_check(&report, &t.model, &t.work, LEAK_QUICK, 1, 0, &err), STATUS_NONFINITE,
                             "kind %zu", kind);
                cr_assert(strstr(err.message, "not finite"), "%s", err.message);
            }
            tiny_free(&t);
        }
}
