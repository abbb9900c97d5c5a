#include "kernels/attention_tile.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "kernels/bf16.h"
#include "kernels/vmath.h"
#include "support/oracle.h"

enum { QUERIES = 21, KEYS = 13, LD = 32 };

/* Query i sees keys [i % 5, 3 + i % 11), some of them none. */
static struct attention_tile tile_of(void)
{
    struct attention_tile t = {.i0 = 7, .j0 = 5, .queries = QUERIES, .keys = KEYS};
    for (size_t i = 0; i < QUERIES; i++) {
        t.begin[i] = (uint16_t)(i % 5);
        t.end[i] = (uint16_t)(3 + i % 11);
        if (t.end[i] <= t.begin[i])
            t.begin[i] = t.end[i] = 0;
    }
    return t;
}

static struct attention_tile_state state_of(struct pool *pool)
{
    return (struct attention_tile_state){pool_real(pool, LD), pool_real(pool, LD), pool_real(pool, LD),
                                         pool_real(pool, LD)};
}

/* Scores with NaN wherever they are hidden or there is no query. */
static real *scores_of(struct pool *pool, const struct attention_tile *t, uint32_t stream, double scale)
{
    real *s = pool_real(pool, KEYS * LD);
    const real *x = pool_normal(pool, KEYS * LD, stream, scale);
    for (size_t j = 0; j < KEYS; j++)
        for (size_t i = 0; i < QUERIES; i++)
            if (j >= t->begin[i] && j < t->end[i])
                s[j * LD + i] = x[j * LD + i];
    return s;
}

Test(attention_tile, softmax_over_two_tiles_is_that_over_all_keys)
{
    static const double scales[] = {1, 30, 1e4};
    for (size_t n = 0; n < 3; n++)
        for (int entropy = 0; entropy < 2; entropy++) {
            struct pool pool = {0};
            const struct attention_tile t = tile_of();
            const struct attention_tile_state state = state_of(&pool);
            real *s[2] = {scores_of(&pool, &t, 1, scales[n]), scores_of(&pool, &t, 2, scales[n])};
            const real *before[2] = {pool_copy(&pool, s[0], KEYS * LD), pool_copy(&pool, s[1], KEYS * LD)};
            attention_tile_begin(&state, QUERIES);
            attention_tile_softmax(&lane_alone, s[0], LD, &t, &state, entropy);
            const real *first = pool_copy(&pool, state.m, LD);
            attention_tile_softmax(&lane_alone, s[1], LD, &t, &state, entropy);
            for (size_t i = 0; i < QUERIES; i++) {
                double m = -INFINITY, l = 0, a = 0;
                for (size_t k = 0; k < 2; k++)
                    for (size_t j = t.begin[i]; j < t.end[i]; j++)
                        m = fmax(m, (double)before[k][j * LD + i]);
                for (size_t k = 0; k < 2; k++)
                    for (size_t j = 0; j < KEYS; j++) {
                        const bool seen = j >= t.begin[i] && j < t.end[i];
                        const double z = (double)before[k][j * LD + i] - m, e = seen ? exp(z) : 0;
                        l += e;
                        a += e > 0 ? e * z : 0;
                        const double from = k ? m : (double)first[i];
                        const double want = seen ? exp((double)before[k][j * LD + i] - from) : 0;
                        cr_assert(seen || s[k][j * LD + i] == 0, "hidden, yet not exactly 0");
                        cr_assert(fabs((double)s[k][j * LD + i] - want) <= 2 * (double)REAL_EPSILON);
                    }
                if (t.begin[i] == t.end[i]) {
                    cr_assert(state.m[i] == -INFINITY && state.l[i] == 0);
                    continue;
                }
                cr_assert((double)state.m[i] == m);
                cr_assert(fabs((double)state.l[i] - l) <= 8 * (double)REAL_EPSILON * l);
                cr_assert(!entropy || fabs((double)state.a[i] - a) <= 16 * (double)REAL_EPSILON * (1 + l));
                cr_assert(fabs((double)state.moved[i] - exp((double)first[i] - m)) <= 2 * (double)REAL_EPSILON);
            }
            pool_free(&pool);
        }
}

Test(attention_tile, gradient_is_the_formula_and_zero_where_nothing_is_seen)
{
    for (int drop = 0; drop < 2; drop++) {
        struct pool pool = {0};
        const struct attention_tile t = tile_of();
        real *p = scores_of(&pool, &t, 1, 1), *ds = scores_of(&pool, &t, 2, 1);
        const real *s = pool_copy(&pool, p, KEYS * LD), *dp = pool_copy(&pool, ds, KEYS * LD);
        const size_t rows = t.i0 + QUERIES;
        real *m = pool_normal(&pool, rows, 3, 1), *share = pool_normal(&pool, rows, 4, 1),
             *d = pool_normal(&pool, rows, 5, 1), *mask = pool_real(&pool, KEYS * LD);
        const struct dropout dropout = {.p = 0.4, .site = {.seed = 3, .purpose = RNG_DROP_ATTENTION}};
        attention_tile_mask(&lane_alone, mask, LD, &t, &dropout, 1, 2, 40);
        attention_tile_gradient(&lane_alone, p, ds, LD, &t, m, share, d, drop ? mask : NULL);
        size_t dropped = 0;
        for (size_t i = 0; i < QUERIES; i++)
            for (size_t j = 0; j < KEYS; j++) {
                const size_t n = j * LD + i, row = t.i0 + i;
                if (j < t.begin[i] || j >= t.end[i]) {
                    cr_assert(p[n] == 0 && ds[n] == 0 && mask[n] == 0);
                    continue;
                }
                struct rng_site site = dropout.site;
                site.row = 1;
                site.head = 2;
                const bool kept = rng_bits(&site, (uint32_t)(row * 40 + t.j0 + j)) >= (uint32_t)(0.4 * 4294967296.0);
                const double keep = drop ? (kept ? 1 / 0.6 : 0) : 1;
                dropped += !kept;
                const double weight = exp((double)s[n] - (double)m[row]) * (double)share[row];
                const double want = weight * (keep * (double)dp[n] - (double)d[row]);
                const double size = fabs(weight) * (fabs((double)dp[n]) + fabs((double)d[row]) + 1);
                cr_assert(fabs((double)p[n] - weight * keep) <= 8 * (double)REAL_EPSILON * size);
                cr_assert(fabs((double)ds[n] - want) <= 16 * (double)REAL_EPSILON * size, "query %zu, key %zu", i, j);
            }
        cr_assert(dropped > 0);
        pool_free(&pool);
    }
}

Test(attention_tile, rows_are_rescaled_ended_transposed_and_summed)
{
    enum { HS = 19, STRIDE = 23 };
    struct pool pool = {0};
    const real *x = pool_normal(&pool, QUERIES * STRIDE, 1, 1), *dy = pool_normal(&pool, QUERIES * STRIDE, 2, 1);
    real *y = pool_copy(&pool, x, QUERIES * STRIDE), *moved = pool_normal(&pool, QUERIES, 3, 1);
    moved[3] = 1;
    attention_tile_rescale(&lane_alone, y, STRIDE, QUERIES, HS, moved);
    struct attention_tile_state state = state_of(&pool);
    attention_tile_begin(&state, QUERIES);
    for (size_t i = 0; i < QUERIES; i++)
        state.l[i] = (real)(i % 4);
    attention_tile_end(&lane_alone, y, STRIDE, HS, &state, QUERIES);
    real *turned = pool_real(&pool, HS * LD), *sums = pool_real(&pool, QUERIES), *rounded = pool_real(&pool, QUERIES);
    attention_tile_transpose(&lane_alone, turned, LD, x, STRIDE, QUERIES, HS);
    attention_tile_row_sums(&lane_alone, sums, dy, x, STRIDE, QUERIES, HS, false);
    attention_tile_row_sums(&lane_alone, rounded, dy, x, STRIDE, QUERIES, HS, true);
    for (size_t i = 0; i < QUERIES; i++) {
        double sum = 0, of_rounded = 0;
        for (size_t c = 0; c < STRIDE; c++) {
            const real was = x[i * STRIDE + c], is = y[i * STRIDE + c];
            if (c >= HS) {
                cr_assert(is == was, "between the rows");
                continue;
            }
            const double want = i % 4 ? (double)(was * moved[i]) / (double)(i % 4) : 0;
            cr_assert(fabs((double)is - want) <= 2 * (double)REAL_EPSILON * fabs(want));
            cr_assert(turned[c * LD + i] == was);
            sum += (double)was * (double)dy[i * STRIDE + c];
            of_rounded += (double)was * (double)bf16_round(dy[i * STRIDE + c]);
        }
        cr_assert(fabs((double)sums[i] - sum) <= 32 * (double)REAL_EPSILON);
        cr_assert(fabs((double)rounded[i] - of_rounded) <= 32 * (double)REAL_EPSILON && rounded[i] != sums[i]);
    }
    pool_free(&pool);
}

Test(attention_tile, one_number_that_is_not_finite_is_found_wherever_it_stands)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const size_t widths[] = {1, 15, 16, 17, 37};
    for (size_t w = 0; w < 5; w++)
        for (size_t rows = 1; rows < 7; rows++) {
            struct pool pool = {0};
            const size_t hs = widths[w], stride = hs + 1;
            real *x = pool_normal(&pool, rows * stride, 1, 1e30);
            x[hs] = NAN; /* between the rows */
            cr_assert(attention_tile_finite(&lane_alone, x, stride, rows, hs));
            for (size_t i = 0; i < rows; i++)
                for (size_t c = 0; c < hs; c++) {
                    const real kept = x[i * stride + c];
                    x[i * stride + c] = (real)bad[(i + c) % 3];
                    cr_assert(!attention_tile_finite(&lane_alone, x, stride, rows, hs), "row %zu, column %zu of %zu", i,
                              c, hs);
                    x[i * stride + c] = kept;
                }
            pool_free(&pool);
        }
}

Test(attention_tile, a_row_is_logged_as_the_formulas_say)
{
    enum { EQUAL = 1, ONE_HOT, NOTHING, SPOILED, OVER, QUERIES_LOGGED };
    real lse[QUERIES_LOGGED + 1] = {7}, entropy[QUERIES_LOGGED + 1] = {7}, max[QUERIES_LOGGED + 1] = {7};
    real m[] = {2, 5, -(real)INFINITY, 1, 3}, l[] = {4, 1, 0, (real)NAN, 3}, a[] = {0, 0, 0, (real)NAN, (real)-1e-3};
    const real visible[] = {4, 3, 0, 3, 3};
    const struct attention_rows rows = {lse, entropy, max};
    const struct attention_tile_state state = {.m = m, .l = l, .a = a};
    attention_tile_log(&lane_alone, &rows, EQUAL, &state, visible, 5);
    cr_assert(max[EQUAL] == 2 && fabs((double)entropy[EQUAL] - log(4)) < 1e-6);
    cr_assert(fabs((double)lse[EQUAL] - 2 - log(4)) < 1e-6);
    cr_assert(max[ONE_HOT] == 5 && entropy[ONE_HOT] == 0 && lse[ONE_HOT] == 5);
    cr_assert(max[NOTHING] == -INFINITY && lse[NOTHING] == -INFINITY && entropy[NOTHING] == 0);
    cr_assert(isnan(max[SPOILED]) && isnan(lse[SPOILED]) && isnan(entropy[SPOILED]));
    cr_assert(fabs((double)entropy[OVER] - log(3)) < 1e-6, "no more than all keys alike");
    cr_assert(lse[0] == 7 && entropy[0] == 7 && max[0] == 7 && lse[QUERIES_LOGGED] == 0);
}

Test(attention_tile, a_tile_that_is_too_large_is_refused, .signal = SIGABRT)
{
    static const enum attention_rule rule = ATTENTION_CAUSAL;
    const struct attention_shape s = {
        .B = 1, .H = 1, .H_kv = 1, .hs = 3, .T_q = 2, .T_k = 4, .scale = 1, .rules = &rule, .tile = 129};
    attention_tile_assert(&s);
}
