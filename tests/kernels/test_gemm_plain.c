#include "kernels/gemm_plain.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support/oracle.h"

TestSuite(gemm_plain, .init = gemm_setup);

#define LIMIT (32 * (double)REAL_EPSILON)
#define GAP 3 /* reals between the stored rows */

struct product {
    enum gemm_transpose op_a, op_b;
    size_t M, N, K, lda, ldb, ldc;
    real *A, *B, *C;
};

static struct product make(struct pool *pool, int op, size_t M, size_t N, size_t K)
{
    const bool ta = op & 1, tb = op & 2;
    struct product p = {ta ? GEMM_TRANSPOSED : GEMM_PLAIN, tb ? GEMM_TRANSPOSED : GEMM_PLAIN, .M = M, .N = N, .K = K};
    p.lda = (ta ? M : K) + GAP;
    p.ldb = (tb ? K : N) + GAP;
    p.ldc = N + GAP;
    p.A = pool_normal(pool, (ta ? K : M) * p.lda, 1, 1);
    p.B = pool_normal(pool, (tb ? N : K) * p.ldb, 2, 1);
    p.C = pool_normal(pool, M * p.ldc, 3, 1);
    return p;
}

static double a_of(const struct product *p, size_t m, size_t k)
{
    return (double)p->A[p->op_a == GEMM_TRANSPOSED ? k * p->lda + m : m * p->lda + k];
}

static double b_of(const struct product *p, size_t k, size_t n)
{
    return (double)p->B[p->op_b == GEMM_TRANSPOSED ? n * p->ldb + k : k * p->ldb + n];
}

/* Against the definition, over C as it was before; the gaps keep what they hold. `from` > 0 leaves terms out. */
static double error_of(int op, size_t M, size_t N, size_t K, double beta, size_t from)
{
    struct pool pool = {0};
    const struct product p = make(&pool, op, M, N, K);
    double *want = pool_widen(&pool, p.C, M * p.ldc);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            double sum = 0;
            for (size_t k = from; k < K; k++)
                sum += a_of(&p, m, k) * b_of(&p, k, n);
            want[m * p.ldc + n] = 0.75 * sum + beta * want[m * p.ldc + n];
        }
    gemm_plain(p.op_a, p.op_b, M, N, K, (real)0.75, p.A, p.lda, p.B, p.ldb, (real)beta, p.C, p.ldc);
    const double error = oracle_error(p.C, want, M * p.ldc);
    pool_free(&pool);
    return error;
}

Test(gemm_plain, matches_the_definition_around_its_blocks_in_every_orientation)
{
    static const size_t ms[] = {1, 3, 4, 5, 13}, ns[] = {1, 7, 8, 9, 17}, ks[] = {0, 1, 2, 127, 128, 129, 257};
    for (int op = 0; op < 4; op++)
        for (size_t m = 0; m < 5; m++)
            for (size_t n = 0; n < 5; n++)
                for (size_t k = 0; k < 7; k++) {
                    const double error = error_of(op, ms[m], ns[n], ks[k], k % 2 ? 1 : -0.5, 0);
                    cr_assert(error <= LIMIT, "M %zu, N %zu, K %zu, orientation %d: error %.3g", ms[m], ns[n], ks[k],
                              op, error);
                }
    cr_assert_gt(error_of(0, 5, 9, 129, 1, 1), LIMIT, "a term that is left out shows");
}

Test(gemm_plain, agrees_with_what_gemm_runs_on)
{
    for (int op = 0; op < 4; op++) {
        struct pool pool = {0};
        const struct product p = make(&pool, op, 61, 131, 193);
        real *other = pool_copy(&pool, p.C, p.M * p.ldc);
        gemm_plain(p.op_a, p.op_b, p.M, p.N, p.K, 1, p.A, p.lda, p.B, p.ldb, 1, p.C, p.ldc);
        gemm(p.op_a, p.op_b, p.M, p.N, p.K, 1, p.A, p.lda, p.B, p.ldb, 1, other, p.ldc);
        const double error = oracle_error(other, pool_widen(&pool, p.C, p.M * p.ldc), p.M * p.ldc);
        cr_assert(error <= LIMIT, "orientation %d: error %.3g", op, error);
        pool_free(&pool);
    }
}

Test(gemm_plain, beta_zero_assigns_without_reading)
{
    for (size_t K = 0; K < 3; K++) {
        struct pool pool = {0};
        const struct product p = make(&pool, 0, 5, 9, K);
        for (size_t i = 0; i < p.M * p.ldc; i++)
            p.C[i] = (real)(i % 2 ? NAN : INFINITY);
        gemm_plain(p.op_a, p.op_b, p.M, p.N, K, 1, p.A, p.lda, p.B, p.ldb, 0, p.C, p.ldc);
        for (size_t i = 0; i < p.M * p.ldc; i++)
            if (i % p.ldc < p.N)
                cr_assert(isfinite(p.C[i]) && (K > 0 || p.C[i] == 0));
            else
                cr_assert(!isfinite(p.C[i]), "a gap was written");
        pool_free(&pool);
    }
}

/* Zeros in A do not hide what is not finite in B, and columns that are not there add nothing of their own. */
Test(gemm_plain, nan_and_infinity_reach_what_they_multiply_and_nothing_else)
{
    const double bad[] = {NAN, INFINITY};
    for (int kind = 0; kind < 2; kind++)
        for (size_t n = 1; n <= 17; n++) {
            struct pool pool = {0};
            const struct product p = make(&pool, 0, n, n, n);
            for (size_t i = 0; i < n; i++)
                p.A[i * p.lda + n - 1] = 0;
            p.B[(n - 1) * p.ldb + n / 2] = (real)bad[kind];
            gemm_plain(p.op_a, p.op_b, n, n, n, 1, p.A, p.lda, p.B, p.ldb, 0, p.C, p.ldc);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    cr_assert(isnan(p.C[i * p.ldc + j]) == (j == n / 2), "size %zu, C[%zu,%zu]", n, i, j);
            pool_free(&pool);
        }
}

Test(gemm_plain, a_row_has_the_same_bits_alone_and_among_others)
{
    enum { M = 7, N = 19, K = 300 };
    struct pool pool = {0};
    const struct product p = make(&pool, 2, M, N, K);
    gemm_plain(p.op_a, p.op_b, M, N, K, 1, p.A, p.lda, p.B, p.ldb, 0, p.C, p.ldc);
    for (size_t m = 0; m < M; m++) {
        real alone[N];
        gemm_plain(p.op_a, p.op_b, 1, N, K, 1, p.A + m * p.lda, p.lda, p.B, p.ldb, 0, alone, N);
        cr_assert_eq(memcmp(alone, p.C + m * p.ldc, sizeof alone), 0, "row %zu", m);
    }
    pool_free(&pool);
}
