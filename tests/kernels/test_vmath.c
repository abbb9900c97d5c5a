#include <criterion/criterion.h>
#include <math.h>

#include "kernels/vmath.h"
#include "support/oracle.h"

/* The bound that vmath.h states, in epsilons of `real`. */
#ifdef NOPEEK_DOUBLE
#define EXP_LIMIT 1.0
#else
#define EXP_LIMIT 0.75
#endif

/* Relative error, in epsilons, of a result against the exact one. */
static double exp_error(real got, long double want)
{
    return (double)(fabsl((long double)got - want) / want) / (double)REAL_EPSILON;
}

static double worst_exp_error(real (*f)(real), double from, double to, size_t steps)
{
    double worst = 0;
    for (size_t i = 0; i <= steps; i++) {
        const real x = (real)(from + (to - from) * (double)i / (double)steps);
        const double error = exp_error(f(x), expl((long double)x));
        worst = error > worst ? error : worst;
    }
    return worst;
}

static real exp_under_test(real x)
{
    return vmath_exp(x);
}

/* A fault of a size that a wrong last coefficient would have. */
static real exp_off_by_a_little(real x)
{
    return vmath_exp(x) * (1 + 4 * REAL_EPSILON);
}

Test(vmath, exp_keeps_its_stated_error_over_the_normal_range)
{
    /* From where results are normal numbers to where they overflow; more densely where softmax lives. */
    const double low = -87.3, high = 88.7;
    const double wide = worst_exp_error(exp_under_test, low, high, 1500000);
    const double near = worst_exp_error(exp_under_test, -2, 2, 500000);
    const double worst = worst_exp_error(exp_under_test, 26.68, 26.70, 100000); /* the worst of all floats */
    const double tiny = worst_exp_error(exp_under_test, -1e-6, 1e-6, 1000);
    cr_assert(wide <= EXP_LIMIT, "error %.3f epsilons in [%g, %g], allowed %g", wide, low, high, EXP_LIMIT);
    cr_assert(near <= EXP_LIMIT, "error %.3f epsilons in [-2, 2], allowed %g", near, EXP_LIMIT);
    cr_assert(worst <= EXP_LIMIT, "error %.3f epsilons near 26.69, allowed %g", worst, EXP_LIMIT);
    cr_assert(tiny <= EXP_LIMIT, "error %.3f epsilons near 0, allowed %g", tiny, EXP_LIMIT);
}

Test(vmath, harness_catches_an_exp_that_is_off_by_a_little)
{
    cr_assert(worst_exp_error(exp_off_by_a_little, -2, 2, 1000) > EXP_LIMIT);
}

Test(vmath, exp_has_exact_ends)
{
    cr_assert(vmath_exp(0) == 1);
    cr_assert(vmath_exp((real)-0.0) == 1);
    cr_assert(vmath_exp(-(real)INFINITY) == 0);
    cr_assert(!signbit(vmath_exp(-(real)INFINITY)));
    cr_assert(vmath_exp((real)INFINITY) == (real)INFINITY);
    cr_assert(isnan(vmath_exp((real)NAN)));
    cr_assert(isnan(vmath_exp(-(real)NAN)));
    cr_assert(vmath_exp((real)-1e30) == 0);
    cr_assert(vmath_exp((real)1e30) == (real)INFINITY);
    cr_assert(vmath_exp(-(real)REAL_EPSILON * (real)REAL_EPSILON) == 1);
}

#ifndef NOPEEK_DOUBLE
Test(vmath, exp_overflows_where_the_true_value_does)
{
    const float last = 88.72283f; /* the largest float whose exponential is below FLT_MAX */
    cr_assert(isfinite(vmath_exp(last)));
    cr_assert(expl((long double)last) < (long double)FLT_MAX);
    cr_assert(vmath_exp(nextafterf(last, 100)) == INFINITY);
    cr_assert(vmath_exp(89) == INFINITY);
    cr_assert(vmath_exp(90) == INFINITY);
}

Test(vmath, exp_is_right_to_the_last_bit_of_subnormal_results)
{
    const double spacing = 0x1p-149;
    for (int i = 0; i <= 400000; i++) {
        const float x = -87.3f - 17.0f * (float)i / 400000;
        const double error = fabs((double)vmath_exp(x) - exp((double)x));
        cr_assert(error <= spacing * 0.5 + exp((double)x) * EXP_LIMIT * (double)FLT_EPSILON, "exp(%.9g) is %.9g",
                  (double)x, (double)vmath_exp(x));
    }
    cr_assert(vmath_exp(-103.9f) > 0);
    cr_assert(vmath_exp(-103.98f) == 0);
}
#endif

Test(vmath, sums_match_plain_loops_at_every_length)
{
    for (size_t n = 0; n <= 67; n++) {
        struct pool pool = {0};
        const real *x = pool_normal(&pool, n, 1, 1), *y = pool_normal(&pool, n, 2, 1);
        double sum = 0, dot = 0, size = 1;
        for (size_t i = 0; i < n; i++) {
            sum += (double)x[i];
            dot += (double)x[i] * (double)y[i];
            size += fabs((double)x[i]) + fabs((double)x[i] * (double)y[i]);
        }
        const double limit = 8 * (double)REAL_EPSILON * size;
        cr_assert(fabs((double)vmath_sum(x, n) - sum) <= limit, "sum of %zu", n);
        cr_assert(fabs((double)vmath_dot(x, y, n) - dot) <= limit, "dot of %zu", n);
        if (n > 0) { /* one number left out must be seen */
            const double without = sum - (double)x[n - 1];
            cr_assert(fabs((double)vmath_sum(x, n) - without) > limit, "the harness misses the last of %zu", n);
        }
        pool_free(&pool);
    }
}

Test(vmath, sums_carry_nan_and_infinity_from_every_place)
{
    for (size_t n = 1; n <= 35; n++)
        for (size_t i = 0; i < n; i++) {
            real x[35], one[35];
            for (size_t k = 0; k < n; k++)
                x[k] = one[k] = 1;
            x[i] = (real)NAN;
            cr_assert(isnan(vmath_sum(x, n)) && isnan(vmath_dot(x, one, n)));
            x[i] = (real)INFINITY;
            cr_assert(vmath_sum(x, n) == (real)INFINITY && vmath_dot(one, x, n) == (real)INFINITY);
        }
}

/* In epsilons of the larger of 1/2 and the result, as vmath.h states. */
static double log_error(real got, real x)
{
    const long double want = logl((long double)x);
    return (double)(fabsl((long double)got - want) / fmaxl(0.5L, fabsl(want))) / (double)REAL_EPSILON;
}

static double worst_log_error(double from, double to, size_t steps, double fault)
{
    double worst = 0;
    for (size_t i = 0; i <= steps; i++) {
        const real x = (real)(from * pow(to / from, (double)i / (double)steps));
        const double error = log_error(vmath_log(x) * (real)(1 + fault), x);
        worst = error > worst ? error : worst;
    }
    return worst;
}

Test(vmath, log_keeps_its_stated_error_and_its_exact_values)
{
    const double wide = worst_log_error(1e-37, 1e38, 1000000, 0), near = worst_log_error(0.5, 2, 1000000, 0),
                 large = worst_log_error(1, 1e6, 1000000, 0);
    cr_assert(wide <= 1 && near <= 1 && large <= 1, "errors %.3f, %.3f, %.3f epsilons", wide, near, large);
    cr_assert(vmath_log(1) == 0 && isnan(vmath_log((real)NAN)));
    cr_assert(worst_log_error(1, 1e6, 1000, 4 * (double)REAL_EPSILON) > 1, "the test can tell");
}
