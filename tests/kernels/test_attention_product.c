#include "kernels/attention_product.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/bf16.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"
#include "support/oracle.h"

TestSuite(attention_product, .init = gemm_setup);

enum { QUERIES = 13, KEYS = 11, LD = 16, HS = 5, LD_X = 7 };

static bool sees(const struct attention_tile *t, size_t i, size_t j)
{
    return j >= t->begin[i] && j < t->end[i];
}

/* A diagonal through the tile, and one query that sees nothing. */
static struct attention_tile tile_of(void)
{
    struct attention_tile t = {.queries = QUERIES, .keys = KEYS};
    for (size_t i = 0; i < QUERIES; i++)
        t.end[i] = (uint16_t)(i == 3 ? 0 : i + 1 < KEYS ? i + 1 : KEYS);
    return t;
}

static real *words_of(struct pool *pool, size_t n)
{
    return pool_real(pool, n); /* no smaller than a word */
}

static void round_all(real *x, size_t n, bool bf16)
{
    for (size_t i = 0; bf16 && i < n; i++)
        x[i] = bf16_round(x[i]);
}

/* In bf16 of numbers that a bf16 holds: nothing is rounded but sums. */
static void expect_product(bool to_keys, bool add, bool whole, bool bf16, bool prepared)
{
    typedef void product(const struct lane *lane, const struct attention_side *s, real alpha, const real *w, size_t ld,
                         const struct attention_tile *t, size_t hs, real *clean, const struct attention_words *words);
    product *const run = to_keys ? attention_product_to_keys : attention_product_to_queries;
    const real alpha = bf16 ? 1 : (real)0.5;
    struct pool pool = {0};
    struct attention_tile t = tile_of();
    for (size_t i = 0; whole && i < QUERIES; i++)
        t.end[i] = KEYS;
    t.whole = whole;
    const size_t rows = to_keys ? QUERIES : KEYS, outs = to_keys ? KEYS : QUERIES;
    real *w = pool_normal(&pool, KEYS * LD, 1, 1), *clean = pool_real(&pool, rows * HS);
    for (size_t i = 0; i < LD; i++)
        for (size_t j = 0; j < KEYS; j++)
            if (i < QUERIES && !sees(&t, i, j))
                w[j * LD + i] = 0;
    real *x = pool_normal(&pool, rows * LD_X, 2, 1);
    round_all(w, KEYS * LD, bf16);
    round_all(x, rows * LD_X, bf16);
    struct attention_words words = {0};
    struct attention_queries queries = {0};
    if (bf16) {
        words.left = (uint32_t *)(void *)words_of(&pool, attention_words_left(QUERIES, KEYS, HS));
        words.right = (uint32_t *)(void *)words_of(&pool, gemm_bf16_b_size(HS, rows));
        queries.pairs = (uint32_t *)(void *)words_of(&pool, gemm_bf16_b_size(QUERIES, HS));
        queries.sums = (uint32_t *)(void *)words_of(&pool, gemm_bf16_b_size(HS, QUERIES));
    }
    real *out = pool_normal(&pool, outs * HS, 3, 1);
    const real *before = pool_copy(&pool, out, outs * HS);
    struct attention_side side = {out, HS, add, x, LD_X, prepared ? &queries : NULL};
    if (prepared)
        attention_product_turn(&lane_alone, &queries, LD, x, LD_X, QUERIES, HS, true);
    run(&lane_alone, &side, alpha, w, LD, &t, HS, clean, &words);
    for (size_t o = 0; o < outs; o++)
        for (size_t c = 0; c < HS; c++) {
            double want = add ? (double)before[o * HS + c] : 0;
            for (size_t n = 0; n < rows; n++)
                want += (double)alpha * (double)(to_keys ? w[o * LD + n] : w[n * LD + o]) * (double)x[n * LD_X + c];
            cr_assert(fabs((double)out[o * HS + c] - want) <= 16 * (double)REAL_EPSILON, "row %zu", o);
        }
    /* One row of x is not finite: rows that see it show it, others keep their bits. */
    for (size_t n = 0; n < rows; n++) {
        real *again = pool_copy(&pool, before, outs * HS);
        const real kept = x[n * LD_X + 1];
        x[n * LD_X + 1] = (real)NAN;
        side.out = again;
        if (prepared)
            attention_product_turn(&lane_alone, &queries, LD, x, LD_X, QUERIES, HS, true);
        run(&lane_alone, &side, alpha, w, LD, &t, HS, clean, &words);
        x[n * LD_X + 1] = kept;
        for (size_t o = 0; o < outs; o++)
            if (to_keys ? sees(&t, n, o) : sees(&t, o, n))
                cr_assert(isnan(again[o * HS + 1]));
            else
                cr_assert_eq(memcmp(again + o * HS, out + o * HS, HS * sizeof *out), 0, "row %zu of %zu", o, n);
    }
    pool_free(&pool);
}

Test(attention_product, sums_go_to_queries_and_keys_and_what_is_not_finite_only_where_it_is_seen)
{
    for (int bits = 0; bits < 8; bits++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            expect_product(bits & 1, bits & 2, bits & 4, bf16, bf16 && bits & 1);
}

Test(attention_product, scores_are_products_of_pairs)
{
    for (int bf16 = 0; bf16 < 2; bf16++) {
        struct pool pool = {0};
        const struct attention_tile t = tile_of();
        real *x = pool_normal(&pool, KEYS * LD_X, 1, 1), *y = pool_normal(&pool, QUERIES * LD_X, 2, 1);
        real *w = pool_real(&pool, KEYS * LD), *turned = pool_real(&pool, HS * LD);
        struct attention_words words = {0};
        struct attention_queries queries = {.turned = turned};
        round_all(x, KEYS * LD_X, bf16);
        round_all(y, QUERIES * LD_X, bf16);
        if (bf16) {
            words.left = (uint32_t *)(void *)words_of(&pool, attention_words_left(QUERIES, KEYS, HS));
            queries.pairs = (uint32_t *)(void *)words_of(&pool, gemm_bf16_b_size(QUERIES, HS));
        }
        attention_product_turn(&lane_alone, &queries, LD, y, LD_X, QUERIES, HS, false);
        attention_product_of_pairs(&lane_alone, w, LD, 3, x, LD_X, &queries, &t, HS, &words);
        for (size_t j = 0; j < KEYS; j++)
            for (size_t i = 0; i < QUERIES; i++) {
                double want = 0;
                for (size_t c = 0; c < HS; c++)
                    want += 3 * (double)x[j * LD_X + c] * (double)y[i * LD_X + c];
                cr_assert(fabs((double)w[j * LD + i] - want) <= 64 * (double)REAL_EPSILON);
            }
        pool_free(&pool);
    }
}
