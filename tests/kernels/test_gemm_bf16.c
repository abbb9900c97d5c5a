#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/bf16.h"
#include "kernels/gemm_bf16.h"
#include "support/machine.h"
#include "support/oracle.h"

#ifdef NOPEEK_DOUBLE
#define LIMIT 1e-14
#else
#define LIMIT                                                                                                          \
    (4 * (double)REAL_EPSILON) /* of the size of the terms: sums in fp32, the products themselves are exact            \
                                */
#endif

/* bits of rounding itself: what a product of unrounded factors would be off by */
#define ROUNDED 1e-4

enum fault { NONE, NOT_ROUNDED, PAIR_SWAPPED, LAST_LEFT_OUT, FAULTS };

struct product {
    size_t M, N, K;
    enum gemm_transpose op_a, op_b;
    bool add;
    const real *a, *b, *before;
    real *c;
};

static real at(const real *x, enum gemm_transpose op, size_t rows, size_t cols, size_t r, size_t c)
{
    return op == GEMM_TRANSPOSED ? x[c * rows + r] : x[r * cols + c];
}

/* As one person would do it: packed whole, multiplied whole. Words have the exact sizes that the header states. */
static void multiply(struct product *p, enum isa isa)
{
    const struct lane lane = {0, 1, NULL, isa};
    uint32_t *a = malloc(gemm_bf16_a_size(p->M, p->K) * sizeof *a + 1),
             *b = malloc(gemm_bf16_b_size(p->N, p->K) * sizeof *b + 1);
    cr_assert(a && b);
    gemm_bf16_pack_a(&lane, a, p->op_a, p->a, p->op_a ? p->M : p->K, p->M, p->K);
    const size_t panels = gemm_bf16_panels(p->N), half = panels / 2;
    gemm_bf16_pack_b(&lane, b, p->op_b, p->b, p->op_b ? p->K : p->N, p->N, p->K, half, panels);
    gemm_bf16_pack_b(&lane, b, p->op_b, p->b, p->op_b ? p->K : p->N, p->N, p->K, 0, half);
    gemm_bf16(&lane, p->c, p->N, p->M, p->N, p->K, a, b, p->add);
    free(a);
    free(b);
}

/* The largest error over the size of the terms. */
static double error_of(const struct product *p, enum fault fault)
{
    double worst = 0;
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < p->N; n++) {
            double sum = p->add ? (double)p->before[m * p->N + n] : 0, size = fabs(sum);
            for (size_t k = 0; k < p->K - (fault == LAST_LEFT_OUT); k++) {
                const size_t other = fault == PAIR_SWAPPED && (k ^ 1) < p->K ? k ^ 1 : k;
                const real x = at(p->a, p->op_a, p->M, p->K, m, k), y = at(p->b, p->op_b, p->K, p->N, other, n);
                const double term =
                    fault == NOT_ROUNDED ? (double)x * (double)y : (double)bf16_round(x) * (double)bf16_round(y);
                sum += term;
                size += fabs(term);
            }
            const double error = fabs((double)p->c[m * p->N + n] - sum) / (size + 1e-300);
            worst = error <= worst ? worst : error; /* NaN is kept */
        }
    return worst;
}

static double worst_error(size_t M, size_t N, size_t K, int op_a, int op_b, bool add, enum isa isa, enum fault fault)
{
    struct pool pool = {0};
    struct product p = {M, N, K, (enum gemm_transpose)op_a, (enum gemm_transpose)op_b, .add = add};
    p.a = pool_normal(&pool, M * K, 1, 1);
    p.b = pool_normal(&pool, K * N, 2, 1);
    p.before = pool_normal(&pool, M * N, 3, 1);
    p.c = add ? pool_copy(&pool, p.before, M * N) : pool_real(&pool, M * N);
    multiply(&p, isa);
    const double error = error_of(&p, fault);
    pool_free(&pool);
    return error;
}

/* Around the pair, the block of 16, the kernels' 4, 12 and 32 rows, the panel of 32 and depths of 512 and 2048. */
static const size_t ROWS[] = {1, 4, 5, 11, 12, 13, 31, 32, 33, 67}, COLS[] = {1, 15, 16, 17, 31, 32, 33, 97},
                    DEPTHS[] = {1, 2, 31, 32, 33, 65, 511, 513, 1031, 2085};

Test(gemm_bf16, matches_the_oracle_on_rounded_factors_with_every_kernel)
{
    for (int isa = 0; isa <= (int)support_isa(); isa++)
        for (size_t k = 0; k < 10; k++)
            for (int way = 0; way < 8; way++) {
                /* every pair of sizes would take minutes: each depth meets all ways and a moving choice of the rest */
                const size_t M = ROWS[(k + (size_t)way) % 10], N = COLS[(3 * k + (size_t)way) % 8], K = DEPTHS[k];
                const double e = worst_error(M, N, K, way & 1, way >> 1 & 1, way >> 2, (enum isa)isa, NONE);
                cr_assert(e <= LIMIT, "%s: %zu x %zu x %zu, way %d: %g", isa_name((enum isa)isa), M, N, K, way, e);
            }
}

Test(gemm_bf16, harness_catches_planted_faults)
{
    for (int fault = NONE + 1; fault < FAULTS; fault++)
        for (int isa = 0; isa <= (int)support_isa(); isa++)
            cr_assert(worst_error(5, 7, 33, 0, 0, false, (enum isa)isa, (enum fault)fault) > LIMIT, "fault %d", fault);
    cr_assert(worst_error(5, 7, 33, 0, 0, false, support_isa(), NOT_ROUNDED) > ROUNDED);
}

Test(gemm_bf16, empty_products_are_zero_or_what_was_there)
{
    const struct lane lane = {0, 1, NULL, support_isa()};
    real c[6] = {1, 2, 3, 4, 5, 6};
    const uint32_t none[1] = {0};
    gemm_bf16(&lane, c, 3, 2, 3, 0, none, none, true);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(c[i], (real)(i + 1));
    gemm_bf16(&lane, c, 3, 2, 2, 0, none, none, false);
    cr_assert(c[0] == 0 && c[1] == 0 && c[2] == 3 && c[3] == 0 && c[5] == 6, "only what is C's is written");
    gemm_bf16(&lane, c, 3, 0, 2, 4, none, none, false);
    cr_assert_eq(gemm_bf16_pairs(0), 0);
}

/* Row m of C on its own, among few and among many: the same bits, so that no row can see another. */
Test(gemm_bf16, a_row_has_the_same_bits_in_every_company)
{
    enum { M = 37, N = 41, K = 70 };
    struct pool pool = {0};
    const real *a = pool_normal(&pool, M * K, 1, 1), *b = pool_normal(&pool, K * N, 2, 1);
    for (int isa = 0; isa <= (int)support_isa(); isa++) {
        struct product whole = {M, N, K, .a = a, .b = b, .c = pool_real(&pool, M * N)};
        multiply(&whole, (enum isa)isa);
        for (size_t rows = 1; rows < 14; rows++) {
            struct product some = {rows, N, K, .a = a + 3 * K, .b = b, .c = pool_real(&pool, rows * N)};
            multiply(&some, (enum isa)isa);
            cr_assert_eq(memcmp(some.c, whole.c + 3 * N, rows * N * sizeof(real)), 0, "%zu rows, %s", rows,
                         isa_name((enum isa)isa));
        }
    }
    pool_free(&pool);
}

Test(gemm_bf16, a_number_that_is_not_finite_reaches_its_own_row_only)
{
    enum { M = 35, N = 33, K = 64 };
    struct pool pool = {0};
    for (int isa = 0; isa <= (int)support_isa(); isa++)
        for (size_t bad = 0; bad < M; bad += 17) {
            real *a = pool_normal(&pool, M * K, 1, 1);
            a[bad * K + 13] = bad % 2 ? (real)NAN : (real)INFINITY;
            struct product p = {M, N, K, .a = a, .b = pool_normal(&pool, K * N, 2, 1), .c = pool_real(&pool, M * N)};
            multiply(&p, (enum isa)isa);
            for (size_t m = 0; m < M; m++)
                for (size_t n = 0; n < N; n++)
                    cr_assert_eq((bool)isfinite(p.c[m * N + n]), m != bad, "row %zu, %s", m, isa_name((enum isa)isa));
        }
    pool_free(&pool);
}

Test(gemm_bf16, names_what_it_runs_on)
{
    cr_assert_str_eq(gemm_bf16_kernel(ISA_PORTABLE), "fp32 on rounded numbers");
    cr_assert_str_eq(gemm_bf16_kernel(ISA_AVX512), "fp32 on rounded numbers");
#if defined(__x86_64__) && !defined(NOPEEK_DOUBLE)
    cr_assert_str_eq(gemm_bf16_kernel(ISA_AVX512_BF16), "AVX512-BF16");
    cr_assert_str_eq(gemm_bf16_kernel(ISA_AMX), "AMX tiles");
#endif
}
