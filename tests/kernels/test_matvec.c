#include "kernels/matvec.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support/division.h"
#include "support/oracle.h"

#define LIMIT (32 * (double)REAL_EPSILON)

/* One product; w's stored rows lie `gap` reals further apart than they need to. */
struct product {
    size_t N, in, out, gap;
    bool transposed;
    const real *x, *w, *bias;
    real *y;
};

static size_t stored(const struct product *p)
{
    return (p->transposed ? p->in : p->out) + p->gap;
}

static void multiply(const struct lane *lane, const struct product *p, struct span columns)
{
    (p->transposed ? matvec_forward_transposed : matvec_forward)(lane, p->y, p->x, p->w, p->bias, p->N, p->in, p->out,
                                                                 stored(p), columns);
}

static void work(const struct lane *lane, void *context)
{
    const struct product *p = context;
    multiply(lane, p, lane_span(lane, p->out, 16));
}

static void make(struct product *p, struct pool *pool, size_t N, size_t in, size_t out, size_t gap, bool transposed,
                 bool bias)
{
    *p = (struct product){.N = N, .in = in, .out = out, .gap = gap, .transposed = transposed};
    p->x = pool_normal(pool, N * in, 1, 1);
    p->w = pool_normal(pool, stored(p) * (transposed ? out : in), 2, 1);
    p->bias = bias ? pool_normal(pool, out, 3, 1) : NULL;
    p->y = pool_real(pool, N * out);
}

/* In double; `left_out` is an input that does not count (none: SIZE_MAX). */
static double *wanted(const struct product *p, struct pool *pool, size_t left_out)
{
    double *y = pool_double(pool, p->N * p->out);
    for (size_t n = 0; n < p->N; n++)
        for (size_t o = 0; o < p->out; o++) {
            double sum = p->bias ? (double)p->bias[o] : 0;
            for (size_t i = 0; i < p->in; i++)
                if (i != left_out)
                    sum += (double)p->x[n * p->in + i] *
                           (double)p->w[p->transposed ? o * stored(p) + i : i * stored(p) + o];
            y[n * p->out + o] = sum;
        }
    return y;
}

/* Around a vector, around the inputs that are taken together, and around the widest strip of columns. */
static const size_t SIZES[][2] = {{1, 1},    {7, 15},    {8, 16},   {9, 17},   {16, 257}, {17, 255}, {37, 64},
                                  {3, 8195}, {24, 2049}, {128, 65}, {40, 128}, {9, 145},  {5, 255},  {6, 256}};
static const size_t ROWS[] = {1, 2, 3, 4, 5, 7, 8, 9, 33};

Test(matvec, matches_the_oracle_under_every_division_and_instruction_set)
{
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
        for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++)
            for (int kind = 0; kind < 4; kind++) {
                struct pool pool = {0};
                struct product p;
                make(&p, &pool, ROWS[r], SIZES[s][0], SIZES[s][1], s % 3, kind & 1, kind & 2);
                const double *want = wanted(&p, &pool, SIZE_MAX);
                for (size_t d = 0; d < DIVISIONS; d++) {
                    p.y = pool_real(&pool, p.N * p.out);
                    division_run(&divisions[d], work, &p);
                    const double error = oracle_error(p.y, want, p.N * p.out);
                    cr_assert(error <= LIMIT, "N %zu, in %zu, out %zu, kind %d, division %zu: %.3g", p.N, p.in, p.out,
                              kind, d, error);
                }
                pool_free(&pool);
            }
}

Test(matvec, harness_sees_a_single_input_that_is_left_out)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        struct pool pool = {0};
        struct product p;
        make(&p, &pool, 3, 37, 64, 0, transposed, true);
        multiply(&lane_alone, &p, (struct span){0, p.out});
        for (size_t i = 0; i < p.in; i++)
            cr_assert_gt(oracle_error(p.y, wanted(&p, &pool, i), p.N * p.out), LIMIT);
        pool_free(&pool);
    }
}

/* What generation promises: a text does not depend on the texts beside it. */
Test(matvec, a_row_has_the_same_bits_alone_and_among_others_on_every_instruction_set)
{
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++)
        for (int transposed = 0; transposed < 2; transposed++) {
            struct pool pool = {0};
            struct product p;
            make(&p, &pool, 33, SIZES[s][0], SIZES[s][1], 0, transposed, true);
            multiply(&lane_alone, &p, (struct span){0, p.out});
            const real *all = pool_copy(&pool, p.y, p.N * p.out);
            for (size_t d = 0; d < DIVISIONS; d++) {
                memset(p.y, 0, p.N * p.out * sizeof *p.y);
                division_run(&divisions[d], work, &p);
                cr_assert_eq(memcmp(p.y, all, p.N * p.out * sizeof *all), 0, "division %zu", d);
            }
            for (size_t n = 0; n < p.N; n++) {
                struct product one = p;
                one.N = 1;
                one.x = p.x + n * p.in;
                one.y = pool_real(&pool, p.out);
                multiply(&lane_alone, &one, (struct span){0, p.out});
                cr_assert_eq(memcmp(one.y, all + n * p.out, p.out * sizeof *all), 0, "row %zu", n);
            }
            pool_free(&pool);
        }
}

Test(matvec, only_the_columns_asked_for_are_written_and_a_nan_reaches_its_own_row_alone)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        struct pool pool = {0};
        struct product p;
        make(&p, &pool, 5, 20, 50, 0, transposed, true);
        for (size_t k = 0; k < p.N * p.out; k++)
            p.y[k] = 7;
        real *x = pool_copy(&pool, p.x, p.N * p.in);
        x[2 * p.in + 3] = NAN;
        p.x = x;
        multiply(&lane_alone, &p, (struct span){16, 33});
        for (size_t n = 0; n < p.N; n++)
            for (size_t o = 0; o < p.out; o++) {
                const real y = p.y[n * p.out + o];
                if (o < 16 || o >= 33)
                    cr_assert_eq(y, 7);
                else
                    cr_assert(n == 2 ? isnan(y) : isfinite(y) && y != 7);
            }
        pool_free(&pool);
    }
}
