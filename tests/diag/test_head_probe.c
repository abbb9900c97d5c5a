#include "diag/head_probe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/machine.h"
#include "support/tiny.h"

#define B ((size_t)3)
#define T ((size_t)12)
#define L ((size_t)2)
#define H ((size_t)3)
#define C ((size_t)12)
#define HS (C / H)

static struct error err;

static void make(struct tiny *t, struct head_probe *p, struct config c)
{
    tiny_make(t, &c, 1, B, T, 1);
    cr_assert_eq(head_probe_create(p, &t->model, &err), STATUS_OK, "%s", err.message);
}

static struct config usual(void)
{
    return config_make(L, H, C, T, 17);
}

static void done(struct tiny *t, struct head_probe *p)
{
    head_probe_free(p);
    tiny_free(t);
}

static struct head_watch_probe measure(struct tiny *t, struct head_probe *p)
{
    gpt_forward(&t->model, &t->work, t->tokens, B, T, &(struct gpt_pass){.training = true, .seed = 3});
    return head_probe_measure(p, &t->model, &t->work, B, T);
}

/* x <- factor * x + add, in one head's columns of W_Q (part 0), W_K (1) or W_V (2). */
static void change(struct tiny *t, size_t layer, size_t part, size_t head, double factor, double add)
{
    real *w = tiny_tensor(t, t->model.params, PARAMS_QKV, layer);
    for (size_t i = 0; i < C; i++)
        for (size_t x = 0; x < HS; x++) {
            real *at = w + i * 3 * C + part * C + head * HS + x;
            *at = (real)(factor * (double)*at + (i % 2 ? add : -add));
        }
}

Test(head_probe, weights_that_stay_or_only_shrink_have_not_turned)
{
    struct tiny t;
    struct head_probe p;
    make(&t, &p, usual());
    struct head_watch_probe m = measure(&t, &p);
    for (size_t i = 0; i < L * H; i++)
        cr_assert_eq(m.turn[i], 0);
    for (size_t step = 0; step < 500; step++) /* weight decay, with its rounding */
        for (size_t i = 0; i < L * H; i++)
            for (size_t part = 0; part < 2; part++)
                change(&t, i / H, part, i % H, 1 - 1e-4, 0);
    change(&t, 1, 2, 0, 1, 3); /* values are not asked */
    m = measure(&t, &p);
    for (size_t i = 0; i < L * H; i++)
        cr_assert_lt(m.turn[i], 1e-5, "%g", m.turn[i]);
    done(&t, &p);
}

Test(head_probe, a_turn_is_the_heads_whose_queries_or_keys_changed)
{
    for (size_t part = 0; part < 2; part++) {
        struct tiny t;
        struct head_probe p;
        make(&t, &p, usual());
        change(&t, 1, part, 2, 1, 0.2);
        const struct head_watch_probe m = measure(&t, &p);
        for (size_t i = 0; i < L * H; i++)
            cr_assert(i == H + 2 ? m.turn[i] > 0.2 && m.turn[i] < 1 : m.turn[i] == 0, "%zu: %g", i, m.turn[i]);
        done(&t, &p);
    }
}

Test(head_probe, a_quarter_turn_is_1_and_what_steps_could_do_grows_with_their_rates)
{
    struct tiny t;
    struct head_probe p;
    struct config c = usual();
    tiny_make(&t, &c, 1, B, T, 1);
    real *w = tiny_tensor(&t, t.model.params, PARAMS_QKV, 0);
    for (size_t i = 0; i < C; i++)
        for (size_t k = 0; k < 2 * C; k++)
            w[i * 3 * C + k] = i < C / 2 ? (real)0.5 : 0;
    cr_assert_eq(head_probe_create(&p, &t.model, &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < C; i++) /* from one half of the rows into the other */
        for (size_t k = 0; k < 2 * C; k++)
            w[i * 3 * C + k] = i < C / 2 ? 0 : (real)0.5;
    for (size_t k = 0; k < 10; k++)
        head_probe_count(&p, 0.01);
    const struct head_watch_probe m = measure(&t, &p);
    cr_assert_float_eq(m.turn[0], 1, 1e-6);
    cr_assert_float_eq(m.due[0], 0.1 / (0.5 * sqrt(0.5)), 1e-6);
    done(&t, &p);
}

Test(head_probe, many_weights_are_sampled_and_the_sample_sees_a_turn)
{
    struct tiny t;
    struct head_probe p;
    struct config c = config_make(1, 2, 64, T, 17); /* 2048 weights of W_Q a head */
    tiny_make(&t, &c, 1, B, T, 1);
    cr_assert_eq(head_probe_create(&p, &t.model, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(p.weights, 2 * HEAD_PROBE_WEIGHTS);
    real *w = tiny_tensor(&t, t.model.params, PARAMS_QKV, 0);
    for (size_t i = 0; i < 64; i++)
        for (size_t k = 32; k < 64; k++) /* head 1 */
            w[i * 192 + k] = -w[i * 192 + k];
    const struct head_watch_probe m = measure(&t, &p);
    cr_assert_eq(m.turn[0], 0);
    cr_assert(m.turn[1] > 0.9, "queries the other way and keys as they were: %g", m.turn[1]);
    done(&t, &p);
}

/* What the head of a layer adds in row n, worked out anew. */
static double part_of(const struct tiny *t, size_t layer, size_t head, size_t n)
{
    const real *att = t->work.block[layer].att + n * C, *w = tiny_tensor(t, t->model.params, PARAMS_PROJ, layer);
    double squares = 0;
    for (size_t o = 0; o < C; o++) {
        double y = 0;
        for (size_t x = head * HS; x < (head + 1) * HS; x++)
            y += (double)att[x] * (double)w[x * C + o];
        squares += y * y;
    }
    return squares;
}

Test(head_probe, share_is_the_heads_part_of_the_residual_stream)
{
    struct tiny t;
    struct head_probe p;
    make(&t, &p, usual());
    real *w = tiny_tensor(&t, t.model.params, PARAMS_PROJ, 1);
    memset(w + HS * C, 0, HS * C * sizeof *w); /* head 1 of layer 1 */
    const struct head_watch_probe m = measure(&t, &p);
    for (size_t i = 0; i < L * H; i++) {
        double part = 0, whole = 0;
        for (size_t k = 0; k < HEAD_PROBE_ROWS; k++) { /* of 36 */
            const size_t n = k * B * T / HEAD_PROBE_ROWS;
            part += part_of(&t, i / H, i % H, n);
            for (size_t x = 0; x < C; x++)
                whole += pow((double)t.work.block[i / H].mid[n * C + x], 2);
        }
        cr_assert_float_eq(m.share[i], sqrt(part / whole), 1e-9);
        cr_assert(i == H + 1 ? m.share[i] == 0 : m.share[i] > 0.01, "%zu: %g", i, m.share[i]);
    }
    done(&t, &p);
}

static void expect_temperature(struct config c, double planted, double tolerance)
{
    struct tiny t;
    struct head_probe p;
    make(&t, &p, c);
    if (planted != 1)
        t.model.attention_scale = 1 / (planted * sqrt((double)HS));
    const struct head_watch_probe m = measure(&t, &p);
    for (size_t i = 0; i < L * H; i++)
        cr_assert_float_eq(m.temperature[i], planted, tolerance * planted, "%g", m.temperature[i]);
    done(&t, &p);
}

Test(head_probe, temperature_is_what_scores_are_divided_by_too_much)
{
    expect_temperature(usual(), 1, 1e-4);
    expect_temperature(usual(), 20, 1e-4);
    expect_temperature(usual(), 0.25, 1e-4);
    struct config c = usual();
    c.window = 4;
    c.declared = c.trained = ATTENTION_WINDOW;
    expect_temperature(c, 20, 1e-4);
    c = usual();
    c.trained = ATTENTION_FULL;
    expect_temperature(c, 1, 1e-4);
    c = usual();
    c.precision = PRECISION_BF16; /* its products round their factors to 8 bits */
    expect_temperature(c, 20, 0.02);
}

Test(head_probe, scores_of_nothing_have_no_temperature)
{
    struct tiny t;
    struct head_probe p;
    make(&t, &p, usual());
    real *w = tiny_tensor(&t, t.model.params, PARAMS_QKV, 0), *b = tiny_tensor(&t, t.model.params, PARAMS_QKV_BIAS, 0);
    change(&t, 0, 0, 1, 0, 0);
    memset(b, 0, 3 * C * sizeof *b);
    cr_assert_not_null(w);
    const struct head_watch_probe m = measure(&t, &p);
    cr_assert(isnan(m.temperature[1]) && m.temperature[0] > 0.99);
    done(&t, &p);
}

/* Head `to` gets the queries and keys of head `from`. */
static void copy_looks(struct tiny *t, size_t layer, size_t from, size_t to)
{
    real *w = tiny_tensor(t, t->model.params, PARAMS_QKV, layer),
         *b = tiny_tensor(t, t->model.params, PARAMS_QKV_BIAS, layer);
    for (size_t i = 0; i <= C; i++) {
        real *row = i < C ? w + i * 3 * C : b;
        for (size_t part = 0; part < 2; part++)
            memcpy(row + part * C + to * HS, row + part * C + from * HS, HS * sizeof *row);
    }
}

Test(head_probe, heads_that_look_alike_have_no_distance)
{
    struct tiny t;
    struct head_probe p;
    make(&t, &p, usual());
    tiny_sharpen(&t, 0, 4);
    tiny_sharpen(&t, 1, 4);
    copy_looks(&t, 1, 0, 2);
    change(&t, 0, 0, 1, 0, 0);
    memset(tiny_tensor(&t, t.model.params, PARAMS_QKV_BIAS, 0), 0, 3 * C * sizeof(real));
    cr_assert_eq(head_probe_maps(&p, &t.model, t.tokens, T, support_team(1), &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < L * H; i++)
        for (size_t b = 0; b < H; b++) {
            const double d = p.distance[i * H + b];
            const bool same = i % H == b || (i / H == 1 && i % H != 1 && b != 1);
            cr_assert(same ? d == 0 : d > 0.05 && d <= 1, "%zu %zu: %g", i, b, d);
            cr_assert_eq(d, p.distance[(i / H * H + b) * H + i % H]);
        }
    for (size_t i = 0; i < L * H; i++) /* head 1 of layer 0 asks for nothing, and sees all alike */
        cr_assert(i == 1 ? p.from_uniform[i] < 1e-6 : p.from_uniform[i] > 0.1, "%zu: %g", i, p.from_uniform[i]);
    done(&t, &p);
}

Test(head_probe, looking_leaves_the_model_and_its_work_as_they_were)
{
    struct tiny t;
    struct head_probe p;
    make(&t, &p, usual());
    const size_t size = t.model.table.size;
    static real before[8192];
    cr_assert_leq(size, 8192);
    gpt_forward(&t.model, &t.work, t.tokens, B, T, &gpt_evaluating);
    memcpy(before, t.model.params, size * sizeof(real));
    static unsigned char work[1 << 20];
    cr_assert_leq(t.work.arena.size, sizeof work);
    memcpy(work, t.work.arena.base, t.work.arena.size);
    (void)head_probe_measure(&p, &t.model, &t.work, B, T);
    cr_assert_eq(head_probe_maps(&p, &t.model, t.tokens, T, support_team(1), &err), STATUS_OK);
    cr_assert_eq(memcmp(before, t.model.params, size * sizeof(real)), 0);
    cr_assert_eq(memcmp(work, t.work.arena.base, t.work.arena.size), 0);
    done(&t, &p);
}
