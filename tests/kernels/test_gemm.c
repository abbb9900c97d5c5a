#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "kernels/gemm.h"
#include "support/machine.h"
#include "support/oracle.h"

TestSuite(gemm, .init = gemm_setup);

#define LIMIT (32 * (double)REAL_EPSILON)
#define GAP 3 /* reals between the stored rows */

enum fault { NONE, FLIPPED_SIGN, BETA_IGNORED, OPERAND_NOT_TRANSPOSED, LAST_TERM_MISSING, FAULTS };

struct product {
    enum gemm_transpose op_a, op_b;
    size_t M, N, K;
    double alpha, beta;
    size_t lda, ldb, ldc;
    real *A, *B, *C;
};

static void product_init(struct product *p, struct pool *pool, uint32_t stream)
{
    const bool ta = p->op_a == GEMM_TRANSPOSED, tb = p->op_b == GEMM_TRANSPOSED;
    p->lda = (ta ? p->M : p->K) + GAP;
    p->ldb = (tb ? p->K : p->N) + GAP;
    p->ldc = p->N + GAP;
    p->A = pool_normal(pool, (ta ? p->K : p->M) * p->lda, 3 * stream, 1);
    p->B = pool_normal(pool, (tb ? p->N : p->K) * p->ldb, 3 * stream + 1, 1);
    p->C = pool_normal(pool, p->M * p->ldc, 3 * stream + 2, 1);
}

static void product_run(const struct product *p, real *C)
{
    gemm(p->op_a, p->op_b, p->M, p->N, p->K, (real)p->alpha, p->A, p->lda, p->B, p->ldb, (real)p->beta, C, p->ldc);
}

/* The definition, over C as it was before; the gaps keep what they hold. */
static double *product_oracle(const struct product *p, struct pool *pool, enum fault fault)
{
    double *want = pool_widen(pool, p->C, p->M * p->ldc);
    const bool ta = p->op_a == GEMM_TRANSPOSED && fault != OPERAND_NOT_TRANSPOSED, tb = p->op_b == GEMM_TRANSPOSED;
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < p->N; n++) {
            double sum = 0;
            for (size_t k = 0; k < p->K - (fault == LAST_TERM_MISSING); k++) {
                const double term = (double)p->A[ta ? k * p->lda + m : m * p->lda + k] *
                                    (double)p->B[tb ? n * p->ldb + k : k * p->ldb + n];
                sum += fault == FLIPPED_SIGN && m + n + k == 0 ? -term : term;
            }
            const double before = fault == BETA_IGNORED ? 0 : p->beta * want[m * p->ldc + n];
            want[m * p->ldc + n] = p->alpha * sum + before;
        }
    return want;
}

static double product_error(struct product p, enum fault fault)
{
    struct pool pool = {0};
    product_init(&p, &pool, 1);
    const double *want = product_oracle(&p, &pool, fault);
    real *got = pool_copy(&pool, p.C, p.M * p.ldc);
    product_run(&p, got);
    const double error = oracle_error(got, want, p.M * p.ldc);
    pool_free(&pool);
    return error;
}

Test(gemm, matches_plain_loops_in_every_orientation_and_leaves_the_gaps_alone)
{
    for (int op = 0; op < 4; op++)
        for (size_t m = 0; m < ORACLE_SIZES; m++)
            for (size_t n = 0; n < ORACLE_SIZES; n++)
                for (size_t k = 0; k < ORACLE_SIZES; k++) {
                    const struct product p = {.op_a = op & 1 ? GEMM_TRANSPOSED : GEMM_PLAIN,
                                              .op_b = op & 2 ? GEMM_TRANSPOSED : GEMM_PLAIN,
                                              .M = oracle_sizes[m],
                                              .N = oracle_sizes[n],
                                              .K = oracle_sizes[k],
                                              .alpha = 0.75,
                                              .beta = n % 2 ? 1 : -0.5};
                    const double error = product_error(p, NONE);
                    cr_assert(error <= LIMIT, "M %zu, N %zu, K %zu, orientation %d: error %.3g", p.M, p.N, p.K, op,
                              error);
                }
}

Test(gemm, harness_catches_planted_faults)
{
    const struct product p = {GEMM_TRANSPOSED, GEMM_PLAIN, .M = 16, .N = 17, .K = 16, .alpha = 1, .beta = 1};
    cr_assert(product_error(p, NONE) <= LIMIT);
    for (int fault = NONE + 1; fault < FAULTS; fault++)
        cr_assert(product_error(p, (enum fault)fault) > LIMIT, "fault %d passes unseen", fault);
}

Test(gemm, beta_zero_assigns_without_reading)
{
    /* M = 1 and N = 1 may run as matrix times vector inside the library: another path, the same promise. */
    const size_t sizes[] = {1, 5, 40};
    for (size_t m = 0; m < 3; m++)
        for (size_t n = 0; n < 3; n++)
            for (size_t k = 0; k < 3; k++) {
                struct pool pool = {0};
                struct product p = {.M = sizes[m], .N = sizes[n], .K = k == 0 ? 0 : sizes[k], .alpha = 1, .beta = 0};
                product_init(&p, &pool, 1);
                for (size_t i = 0; i < p.M * p.ldc; i++)
                    p.C[i] = (real)(i % 2 ? NAN : INFINITY);
                product_run(&p, p.C);
                for (size_t i = 0; i < p.M; i++)
                    for (size_t j = 0; j < p.N; j++) {
                        const double c = (double)p.C[i * p.ldc + j];
                        cr_assert(isfinite(c), "M %zu, N %zu, K %zu: %g", p.M, p.N, p.K, c);
                        cr_assert(p.K > 0 || c == 0, "M %zu, N %zu, K 0 gives %g", p.M, p.N, c);
                    }
                pool_free(&pool);
            }
}

Test(gemm, sizes_of_zero_do_nothing_or_only_scale)
{
    real C[2] = {1, 2};
    gemm(GEMM_PLAIN, GEMM_PLAIN, 0, 2, 3, 1, NULL, 0, NULL, 0, 0, C, 2);
    gemm(GEMM_PLAIN, GEMM_TRANSPOSED, 1, 0, 3, 1, NULL, 3, NULL, 3, 0, C, 0);
    cr_assert(C[0] == 1 && C[1] == 2);
    const real none[1] = {0};
    gemm(GEMM_PLAIN, GEMM_PLAIN, 1, 2, 0, 1, none, 0, none, 2, 3, C, 2);
    cr_assert(C[0] == 3 && C[1] == 6);
}

Test(gemm, nan_and_infinity_reach_what_they_multiply_zeros_included)
{
    const double bad[] = {NAN, INFINITY};
    for (int kind = 0; kind < 2; kind++)
        for (size_t s = 0; s < ORACLE_SIZES; s++) {
            struct pool pool = {0};
            const size_t n = oracle_sizes[s];
            struct product p = {.M = n, .N = n, .K = n, .alpha = 1, .beta = 0};
            product_init(&p, &pool, 1);
            for (size_t i = 0; i < n; i++)
                p.A[i * p.lda + n - 1] = 0;
            p.B[(n - 1) * p.ldb] = (real)bad[kind]; /* meets the zeros of A in column 0 of C */
            product_run(&p, p.C);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    cr_assert(isnan(p.C[i * p.ldc + j]) == (j == 0), "size %zu, C[%zu,%zu]", n, i, j);
            pool_free(&pool);
        }
}

Test(gemm, names_the_library)
{
    cr_assert(strlen(gemm_library()) > 0);
    const char *threading = gemm_threading();
    cr_assert(strcmp(threading, "pthreads") == 0 || strcmp(threading, "OpenMP") == 0 ||
              strcmp(threading, "serial") == 0 || strcmp(threading, "unknown") == 0);
}

/* Many threads, each going round the same products from another start, comparing every bit with what one call
 * alone gave. */
#define STORM_PRODUCTS 24
#define STORM_LANES 8
struct storm {
    struct product products[STORM_PRODUCTS];
    real *alone[STORM_PRODUCTS];
    real *own[STORM_LANES];
    size_t wrong[STORM_LANES], calls[STORM_LANES];
    double until;
};

static void storm_work(const struct lane *lane, void *context)
{
    struct storm *storm = context;
    const size_t me = (size_t)lane->index;
    size_t wrong = 0, calls = 0;
    do
        for (size_t k = 0; k < STORM_PRODUCTS; k++, calls++) {
            const size_t at = (k + 5 * me) % STORM_PRODUCTS;
            const struct product *p = &storm->products[at];
            const size_t bytes = p->M * p->ldc * sizeof(real);
            memcpy(storm->own[me], p->C, bytes);
            product_run(p, storm->own[me]);
            wrong += memcmp(storm->own[me], storm->alone[at], bytes) != 0;
        }
    while (clock_seconds() < storm->until);
    storm->wrong[me] = wrong;
    storm->calls[me] = calls;
}

/* How many calls gave other bits than alone; `corrupt` plants one wrong expectation. */
static size_t storm_wrong(double seconds, bool corrupt)
{
    struct pool pool = {0};
    struct storm storm = {.until = 0};
    size_t largest = 0;
    for (size_t k = 0; k < STORM_PRODUCTS; k++) {
        /* odd sizes from 1 to about 130, some so thin that the library takes its vector path */
        struct product p = {.op_a = k & 1 ? GEMM_TRANSPOSED : GEMM_PLAIN,
                            .op_b = k & 2 ? GEMM_TRANSPOSED : GEMM_PLAIN,
                            .M = k % 7 == 3 ? 1 : 3 + 10 * (k % 13),
                            .N = k % 11 == 5 ? 1 : 129 - 14 * (k % 9),
                            .K = 1 + 24 * (k % 6),
                            .alpha = 1,
                            .beta = k % 3 ? 0 : 1};
        product_init(&p, &pool, (uint32_t)(k + 1));
        const size_t n = p.M * p.ldc;
        largest = n > largest ? n : largest;
        storm.products[k] = p;
        storm.alone[k] = pool_copy(&pool, p.C, n);
        product_run(&p, storm.alone[k]);
        const double error = oracle_error(storm.alone[k], product_oracle(&p, &pool, NONE), n);
        cr_assert(error <= LIMIT, "M %zu, N %zu, K %zu alone: error %.3g", p.M, p.N, p.K, error);
    }
    if (corrupt)
        storm.alone[7][0] += 8 * REAL_EPSILON;
    for (size_t lane = 0; lane < STORM_LANES; lane++)
        storm.own[lane] = pool_real(&pool, largest);
    storm.until = clock_seconds() + seconds;
    team_run(support_team(STORM_LANES), storm_work, &storm);
    size_t wrong = 0, calls = 0;
    for (int lane = 0; lane < STORM_LANES; lane++) {
        wrong += storm.wrong[lane];
        calls += storm.calls[lane];
    }
    cr_assert(calls >= STORM_PRODUCTS * (size_t)STORM_LANES);
    pool_free(&pool);
    return wrong;
}

Test(gemm, many_threads_at_once_get_the_bits_of_a_call_alone)
{
    cr_assert(storm_wrong(0.8, false) == 0);
}

Test(gemm, harness_catches_a_wrong_bit_under_load)
{
    cr_assert(storm_wrong(0.01, true) > 0);
}

#ifndef NOPEEK_SANITIZED /* sanitizers have all addresses taken */
#include <sys/resource.h>

/* Where there is too little, the library would ask for it for ever. */
Test(gemm, room_for_its_buffers_is_known_before_the_first_product)
{
    cr_assert(gemm_has_room(2));
    const bool library = strncmp(gemm_library(), "OpenBLAS", 8) == 0;
    cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 20, RLIM_INFINITY}), 0);
    cr_assert_eq(gemm_has_room(1), !library);
}
#endif
