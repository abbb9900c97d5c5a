#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/norm.h"
#include "support/division.h"
#include "support/oracle.h"

struct call {
    double partial[16];
    const real *x;
    size_t n;
};

static void work(const struct lane *lane, void *context)
{
    struct call *c = context;
    norm_squares(lane, c->partial, c->x, c->n);
}

static double norm_by(const struct division *d, const real *x, size_t n)
{
    struct call c = {.x = x, .n = n};
    cr_assert(norm_partials(n) <= 16);
    memset(c.partial, 0xff, sizeof c.partial); /* NaN: every chunk must be written */
    division_run(d, work, &c);
    return norm_finish(c.partial, n);
}

static long double plain(const real *x, size_t n)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (long double)x[i] * (long double)x[i];
    return sqrtl(sum);
}

/* Around the chunk of 4096 and the 8 sums within it; the last is prime. */
static const size_t sizes[] = {1, 7, 8, 9, 37, 4095, 4096, 4097, 8191, 8192, 8193, 40009};

Test(norm, matches_a_plain_loop_and_is_the_same_number_on_any_number_of_lanes)
{
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct pool pool = {0};
        const size_t n = sizes[k];
        const real *x = pool_normal(&pool, n, 1, 3);
        const double want = (double)plain(x, n), got = norm_by(&divisions[0], x, n);
        cr_assert(fabs(got - want) <= 1e-13 * want, "n %zu: %.17g, not %.17g", n, got, want);
        for (size_t d = 1; d < DIVISIONS; d++)
            cr_assert(norm_by(&divisions[d], x, n) == got, "n %zu, division %zu", n, d);
        const double shorter = (double)plain(x, n - 1);
        cr_assert(fabs(got - shorter) > 1e-13 * want, "the harness misses the last of %zu", n);
        pool_free(&pool);
    }
}

Test(norm, of_nothing_is_zero)
{
    cr_assert(norm_partials(0) == 0);
    cr_assert(norm_by(&divisions[0], NULL, 0) == 0);
}

Test(norm, of_large_numbers_does_not_overflow_in_float)
{
    struct pool pool = {0};
    real *x = pool_normal(&pool, 5000, 1, 1);
    for (size_t i = 0; i < 5000; i++)
        x[i] = (real)(i % 2 ? 1e30 : -1e30);
    const double want = 1e30 * sqrt(5000);
    cr_assert(fabs(norm_by(&divisions[0], x, 5000) - want) <= 1e-6 * want);
    pool_free(&pool);
}

Test(norm, nan_and_infinity_in_any_place_come_through)
{
    struct pool pool = {0};
    const size_t n = 4096 + 21;
    real *x = pool_normal(&pool, n, 1, 1);
    for (size_t i = 0; i < n; i += i < 24 || i > 4080 ? 1 : 53) {
        const real kept = x[i];
        for (size_t d = 0; d < DIVISIONS; d += DIVISIONS - 1) {
            x[i] = (real)NAN;
            cr_assert(isnan(norm_by(&divisions[d], x, n)), "NaN at %zu", i);
            x[i] = -(real)INFINITY;
            cr_assert(norm_by(&divisions[d], x, n) == (double)INFINITY, "infinity at %zu", i);
        }
        x[i] = kept;
    }
    pool_free(&pool);
}
