#include "model/block.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/oracle.h"
#include "support/tiny.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-12
#else
#define NEAR 1e-5
#endif

static const struct gpt_pass DROPPING = {.training = true, .seed = 5, .step = 9};

Test(block, params_point_into_the_table_and_absent_biases_are_null)
{
    for (int bias = 0; bias < 2; bias++) {
        struct error err;
        struct params_table t;
        struct config c = config_make(3, 2, 6, 5, 7);
        c.bias = bias;
        cr_assert_eq(params_table_make(&t, &c, &err), STATUS_OK);
        real *values = calloc(t.size, sizeof *values);
        const struct block_params b = block_params(&t, values, 1), none = block_params(&t, NULL, 1);
        const struct {
            const real *at, *none;
            enum params_kind kind;
        } all[] = {
            {b.ln1_gain, none.ln1_gain, PARAMS_LN1_GAIN},
            {b.ln1_bias, none.ln1_bias, PARAMS_LN1_BIAS},
            {b.qkv, none.qkv, PARAMS_QKV},
            {b.qkv_bias, none.qkv_bias, PARAMS_QKV_BIAS},
            {b.proj, none.proj, PARAMS_PROJ},
            {b.proj_bias, none.proj_bias, PARAMS_PROJ_BIAS},
            {b.ln2_gain, none.ln2_gain, PARAMS_LN2_GAIN},
            {b.ln2_bias, none.ln2_bias, PARAMS_LN2_BIAS},
            {b.fc, none.fc, PARAMS_FC},
            {b.fc_bias, none.fc_bias, PARAMS_FC_BIAS},
            {b.fc_out, none.fc_out, PARAMS_FC_OUT},
            {b.fc_out_bias, none.fc_out_bias, PARAMS_FC_OUT_BIAS},
        };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            const struct params_tensor *p = params_find(&t, all[i].kind, 1);
            cr_expect_eq(all[i].at, p->present ? values + p->offset : NULL, "%s", p->name);
            cr_expect_null(all[i].none, "%s", p->name);
        }
        free(values);
        params_table_free(&t);
    }
}

/* ---- the block in plain double loops ---- */

static void plain_norm(double *y, const double *x, const real *gain, const real *bias, size_t N, size_t C)
{
    for (size_t n = 0; n < N; n++) {
        double mean = 0, variance = 0;
        for (size_t c = 0; c < C; c++)
            mean += x[n * C + c] / (double)C;
        for (size_t c = 0; c < C; c++)
            variance += (x[n * C + c] - mean) * (x[n * C + c] - mean) / (double)C;
        for (size_t c = 0; c < C; c++)
            y[n * C + c] =
                (x[n * C + c] - mean) / sqrt(variance + 1e-5) * (double)gain[c] + (bias ? (double)bias[c] : 0);
    }
}

static void plain_linear(double *y, const double *x, const real *w, const real *bias, size_t N, size_t in, size_t out)
{
    for (size_t n = 0; n < N; n++)
        for (size_t o = 0; o < out; o++) {
            y[n * out + o] = bias ? (double)bias[o] : 0;
            for (size_t i = 0; i < in; i++)
                y[n * out + o] += x[n * in + i] * (double)w[i * out + o];
        }
}

/* att, weights (B,H,T,T) and entropy (B,H,T) of qkv (B,T,3C). */
static void plain_attention(double *att, double *weights, double *entropy, const double *qkv, size_t B, size_t T,
                            const struct config *c, const enum attention_rule *rules)
{
    const size_t C = c->n_embd, hs = c->head_size;
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < c->n_head; h++)
            for (size_t i = 0; i < T; i++) {
                const size_t row = (b * c->n_head + h) * T + i, visible = rules[h] == ATTENTION_FULL ? T : i + 1;
                double *p = weights + row * T, sum = 0;
                for (size_t j = 0; j < visible; j++) {
                    double s = 0;
                    for (size_t k = 0; k < hs; k++)
                        s += qkv[(b * T + i) * 3 * C + h * hs + k] * qkv[(b * T + j) * 3 * C + C + h * hs + k];
                    sum += p[j] = exp(s / sqrt((double)hs));
                }
                for (size_t j = 0; j < visible; j++) {
                    p[j] /= sum;
                    entropy[row] -= p[j] * log(p[j]);
                    for (size_t k = 0; k < hs; k++)
                        att[(b * T + i) * C + h * hs + k] += p[j] * qkv[(b * T + j) * 3 * C + 2 * C + h * hs + k];
                }
            }
}

static void plain_block(struct pool *pool, double *out, double *weights, double *entropy, const double *x,
                        const struct block_params *b, size_t B, size_t T, const struct config *c,
                        const enum attention_rule *rules)
{
    const size_t N = B * T, C = c->n_embd;
    double *ln = pool_double(pool, N * C), *qkv = pool_double(pool, 3 * N * C), *att = pool_double(pool, N * C),
           *branch = pool_double(pool, N * C), *fc = pool_double(pool, 4 * N * C);
    plain_norm(ln, x, b->ln1_gain, b->ln1_bias, N, C);
    plain_linear(qkv, ln, b->qkv, b->qkv_bias, N, C, 3 * C);
    plain_attention(att, weights, entropy, qkv, B, T, c, rules);
    plain_linear(branch, att, b->proj, b->proj_bias, N, C, C);
    for (size_t i = 0; i < N * C; i++)
        out[i] = x[i] + branch[i];
    plain_norm(ln, out, b->ln2_gain, b->ln2_bias, N, C);
    plain_linear(fc, ln, b->fc, b->fc_bias, N, C, 4 * C);
    for (size_t i = 0; i < 4 * N * C; i++)
        fc[i] = fc[i] / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (fc[i] + 0.044715 * fc[i] * fc[i] * fc[i])));
    plain_linear(branch, fc, b->fc_out, b->fc_out_bias, N, 4 * C, C);
    for (size_t i = 0; i < N * C; i++)
        out[i] += branch[i];
}

/* Runs one block of t's model on x, alone. */
static struct block_acts *forward(struct tiny *t, size_t layer, const real *x, const struct gpt_pass *pass)
{
    const struct block_pass p = {&t->model, layer, t->B, t->T, pass, NULL, false};
    struct block_acts *a = &t->work.block[layer];
    block_forward(&lane_alone, x, a, &t->work, &p);
    return a;
}

Test(block, matches_plain_loops_at_ragged_sizes)
{
    static const struct {
        size_t H, C, B, T;
        bool bias, full;
    } SIZES[] = {{1, 1, 1, 1, true, false},  {1, 5, 2, 15, false, false}, {3, 3, 1, 16, true, true},
                 {2, 6, 3, 17, true, false}, {4, 8, 2, 37, false, true},  {1, 17, 1, 19, true, false}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        struct pool pool = {0};
        struct config c = config_make(2, SIZES[i].H, SIZES[i].C, SIZES[i].T, 5);
        c.bias = SIZES[i].bias;
        struct tiny t;
        tiny_make(&t, &c, 1, SIZES[i].B, SIZES[i].T, 1);
        if (SIZES[i].full)
            t.model.rules[SIZES[i].H] = ATTENTION_FULL; /* the first head of layer 1 */
        const size_t n = t.B * t.T * c.n_embd, rows = t.B * c.n_head * t.T;
        const real *x = pool_normal(&pool, n, 1, 1);
        const struct block_acts *a = forward(&t, 1, x, &gpt_evaluating);
        const struct block_params b = block_params(&t.model.table, t.model.params, 1);
        double *out = pool_double(&pool, n), *weights = pool_double(&pool, rows * t.T),
               *entropy = pool_double(&pool, rows);
        plain_block(&pool, out, weights, entropy, pool_widen(&pool, x, n), &b, t.B, t.T, &c, t.model.rules + c.n_head);
        for (int textbook = 0; textbook < 2; textbook++) {
            cr_expect_leq(oracle_error(a->out, out, n), NEAR, "size %zu: output", i);
            cr_expect_leq(oracle_error(a->rows.entropy, entropy, rows), NEAR, "size %zu: entropy", i);
            a = forward(&t, 1, x, &gpt_textbook);
        }
        cr_expect_leq(oracle_error(a->weights, weights, rows * t.T), NEAR, "size %zu: weights", i);
        tiny_free(&t);
        pool_free(&pool);
    }
}

Test(block, the_attention_map_is_lower_triangular_and_its_rows_sum_to_one)
{
    struct pool pool = {0};
    const struct config c = config_make(1, 2, 6, 37, 5);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 37, 1);
    static const double SHARPER[] = {1, 30, 1e4};
    for (size_t k = 0; k < 3; k++) {
        tiny_sharpen(&t, 0, (real)SHARPER[k]);
        const struct block_acts *a = forward(&t, 0, pool_normal(&pool, 2 * 37 * 6, 1, 1), &gpt_textbook);
        for (size_t row = 0; row < 2 * 2 * 37; row++) {
            const real *p = a->weights + row * 37;
            const size_t i = row % 37;
            double sum = 0;
            for (size_t j = 0; j < 37; j++) {
                cr_expect(j <= i || p[j] == 0, "row %zu sees %zu", i, j);
                cr_expect(p[j] >= 0 && p[j] <= 1);
                sum += (double)p[j];
            }
            cr_expect_float_eq(sum, 1, 1e-6);
            cr_expect(a->rows.entropy[row] >= 0 && (double)a->rows.entropy[row] <= log((double)(i + 1)) + 1e-6);
            cr_expect(i > 0 || (p[0] == 1 && a->rows.entropy[row] == 0), "the first position sees itself alone");
        }
    }
    tiny_free(&t);
    pool_free(&pool);
}

Test(block, a_cache_filled_in_pieces_gives_the_rows_of_the_whole)
{
    enum { T = 37, C = 6 };
    struct pool pool = {0};
    const struct config c = config_make(1, 2, C, T, 5);
    struct tiny t;
    tiny_make(&t, &c, 1, 1, T, 1);
    const real *x = pool_normal(&pool, (size_t)T * C, 1, 1);
    const real *whole = pool_copy(&pool, forward(&t, 0, x, &gpt_evaluating)->out, (size_t)T * C);
    for (size_t piece = 1; piece <= T; piece++)
        for (int alone = 0; alone < 2; alone++) { /* the last position of each piece, without the others */
            struct block_cache cache = {pool_real(&pool, (size_t)T * C), pool_real(&pool, (size_t)T * C), T, 0};
            for (size_t at = 0; at < T; at += piece) {
                const size_t n = at + piece < T ? piece : T - at;
                const struct block_pass p = {&t.model, 0, 1, n, &gpt_evaluating, &cache, alone && n > 1};
                const size_t results = block_results(&p);
                cr_assert_eq(results, alone ? 1 : n);
                cache.past = at;
                block_forward(&lane_alone, x + at * C, &t.work.block[0], &t.work, &p);
                const double off = tiny_distance(t.work.block[0].out, whole + (at + n - results) * C, results * C);
                cr_expect_leq(off, 10 * NEAR, "%zu at %zu, alone %d: %g", n, at, alone, off);
            }
        }
    tiny_free(&t);
    pool_free(&pool);
}

Test(block, dropout_falls_on_weights_and_both_branches_with_the_expected_share)
{
    struct pool pool = {0};
    struct config c = config_make(2, 2, 8, 37, 5);
    c.dropout = 0.25;
    struct tiny t;
    tiny_make(&t, &c, 1, 4, 37, 1);
    const size_t n = t.B * t.T * c.n_embd;
    const real *x = pool_normal(&pool, n, 1, 1);
    const struct block_acts *a = forward(&t, 1, x, &DROPPING);
    /* What was dropped of a branch left the residual stream as it was. */
    size_t attention = 0, mlp = 0, both = 0;
    for (size_t i = 0; i < n; i++) {
        attention += a->mid[i] == x[i];
        mlp += a->out[i] == a->mid[i];
        both += a->mid[i] == x[i] && a->out[i] == a->mid[i];
    }
    const double spread = 4.5 * sqrt(0.25 * 0.75 / (double)n);
    cr_expect_float_eq((double)attention / (double)n, 0.25, spread);
    cr_expect_float_eq((double)mlp / (double)n, 0.25, spread);
    cr_expect_float_eq((double)both / (double)n, 0.0625, spread, "the two masks are independent");
    const real *mid = pool_copy(&pool, a->mid, n), *att = pool_copy(&pool, a->att, n);
    const struct block_acts *other = forward(&t, 0, x, &DROPPING);
    size_t same = 0;
    for (size_t i = 0; i < n; i++)
        same += (mid[i] == x[i]) == (other->mid[i] == x[i]);
    cr_expect_float_eq((double)same / (double)n, 0.625, 2 * spread, "layers have masks of their own");
    a = forward(&t, 1, x, &gpt_evaluating);
    cr_expect_gt(tiny_distance(att, a->att, n), 0.01, "attention's weights are dropped too");
    tiny_free(&t);
    pool_free(&pool);
}

/* A broken key or value behind a query never enters the gradient of that query, dropout or none. The later queries see
 * it, and with them so do the keys and values that they see. */
Test(block, not_a_number_in_a_later_key_or_value_reaches_no_earlier_querys_gradient)
{
    enum { T = 37, C = 6 };
    struct pool pool = {0};
    struct config c = config_make(1, 2, C, T, 5);
    c.dropout = 0.3;
    struct tiny t;
    tiny_make(&t, &c, 1, 1, T, 1);
    const real *x = pool_normal(&pool, (size_t)T * C, 1, 1), *dout = pool_normal(&pool, (size_t)T * C, 2, 1);
    static const size_t AT[] = {1, 15, 16, 17, 32, T - 1};
    for (size_t k = 0; k < 2 * sizeof AT / sizeof *AT; k++) {
        const size_t at = AT[k / 2];
        const struct gpt_pass *pass = k % 2 ? &DROPPING : &gpt_evaluating;
        const struct block_pass p = {&t.model, 0, 1, T, pass, NULL, false};
        struct block_acts *a = forward(&t, 0, x, pass);
        memcpy(t.work.dres, dout, (size_t)T * C * sizeof *dout);
        block_backward(&lane_alone, x, a, &t.work, NULL, &p);
        const real *right = pool_copy(&pool, t.work.dqkv, (size_t)T * 3 * C);
        for (size_t i = 0; i < 2 * C; i++)
            a->qkv[at * 3 * C + C + i] = (real)(i % 2 ? NAN : INFINITY);
        memcpy(t.work.dres, dout, (size_t)T * C * sizeof *dout);
        block_backward(&lane_alone, x, a, &t.work, NULL, &p);
        for (size_t i = 0; i < at; i++)
            cr_expect_eq(memcmp(t.work.dqkv + i * 3 * C, right + i * 3 * C, C * sizeof *right), 0, "query %zu, key %zu",
                         i, at);
        cr_expect_not(isfinite(t.work.dqkv[at * 3 * C]), "query %zu sees itself", at);
    }
    tiny_free(&t);
    pool_free(&pool);
}

/* s = scale q . k: the scale 1 is the usual one, 1 / sqrt(4), with queries twice as large. */
Test(block, another_scale_is_that_of_longer_queries)
{
    const struct config c = config_make(2, 2, 8, 5, 7);
    struct tiny one, usual;
    tiny_make(&one, &c, 1, 2, 5, 1);
    tiny_make(&usual, &c, 1, 2, 5, 1);
    const size_t size = one.model.table.size;
    real *got = malloc(size * sizeof *got), *want = malloc(size * sizeof *want);
    const double before = tiny_step(&one, &gpt_evaluating, got);
    one.model.attention_scale = 1;
    for (size_t layer = 0; layer < 2; layer++)
        tiny_sharpen(&usual, layer, 2);
    const double loss = tiny_step(&one, &gpt_evaluating, got);
    cr_assert_eq(loss, tiny_step(&usual, &gpt_evaluating, want));
    cr_assert_neq(loss, before);
    for (size_t layer = 0; layer < 2; layer++) {
        /* the chain rule, for the queries' third of the columns; all others are the same bits */
        real *dqkv = tiny_tensor(&usual, want, PARAMS_QKV, layer),
             *db = tiny_tensor(&usual, want, PARAMS_QKV_BIAS, layer);
        for (size_t q = 0; q < 8; q++) {
            db[q] *= 2;
            for (size_t row = 0; row < 8; row++)
                dqkv[row * 24 + q] *= 2;
        }
    }
    cr_assert_eq(tiny_distance(got, want, size), 0);
    free(got);
    free(want);
    tiny_free(&one);
    tiny_free(&usual);
}
