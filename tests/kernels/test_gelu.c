#include <criterion/criterion.h>
#include <math.h>

#include "kernels/gelu.h"
#include "support/division.h"
#include "support/oracle.h"

/* Errors are judged against max(1, |x|), the size of what the formula adds up. */
#define LIMIT (4 * (double)REAL_EPSILON)
#define SLOPE_LIMIT (24 * (double)REAL_EPSILON)

enum fault { NONE, FLIPPED_SIGN, CUBIC_TERM_MISSING, CONSTANT_IN_THREE_DIGITS, FAULTS };

static double inner(double x, enum fault fault)
{
    const double cubic = fault == CUBIC_TERM_MISSING ? 0 : fault == CONSTANT_IN_THREE_DIGITS ? 0.0447 : 0.044715;
    return sqrt(2 / acos(-1)) * (x + cubic * x * x * x);
}

/* The form with tanh, libm's. */
static double oracle_value(double x, enum fault fault)
{
    const double t = tanh(inner(x, fault));
    return x / 2 * (fault == FLIPPED_SIGN ? 1 - t : 1 + t);
}

static double oracle_slope(double x, enum fault fault)
{
    const double u = inner(x, fault), sech = 1 / cosh(u);
    const double du = sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x);
    const double change = sech == 0 ? 0 : x / 2 * sech * sech * du;
    return (1 + tanh(u)) / 2 + (fault == FLIPPED_SIGN ? -change : change);
}

struct errors {
    double value, slope;
};

static struct errors gelu_errors(const real *x, size_t n, enum fault fault)
{
    struct pool pool = {0};
    real *y = pool_real(&pool, n), *dx = pool_real(&pool, n), *dy = pool_real(&pool, n);
    for (size_t i = 0; i < n; i++)
        dy[i] = 1;
    gelu_forward(&lane_alone, y, x, 1, n);
    gelu_backward(&lane_alone, dx, dy, x, 1, n);
    struct errors worst = {0};
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i], size = fmax(1, fabs(v));
        const double value = oracle_value(v, fault), slope = oracle_slope(v, fault);
        worst.value = fmax(worst.value, oracle_error_over(&y[i], &value, 1, size));
        worst.slope = fmax(worst.slope, oracle_error_over(&dx[i], &slope, 1, size));
    }
    pool_free(&pool);
    return worst;
}

#define SWEEP 200001
static real *sweep(struct pool *pool, double from, double to)
{
    real *x = pool_real(pool, SWEEP);
    for (size_t i = 0; i < SWEEP; i++)
        x[i] = (real)(from + (to - from) * (double)i / (SWEEP - 1));
    return x;
}

Test(gelu, value_and_slope_match_libm_tanh_from_minus_to_plus_a_hundred)
{
    static const double reach[] = {0.01, 1, 12, 100};
    for (size_t k = 0; k < 4; k++) {
        struct pool pool = {0};
        const struct errors e = gelu_errors(sweep(&pool, -reach[k], reach[k]), SWEEP, NONE);
        cr_assert(e.value <= LIMIT, "up to %g: value off by %.3g epsilons", reach[k], e.value / (double)REAL_EPSILON);
        cr_assert(e.slope <= SLOPE_LIMIT, "up to %g: slope off by %.3g epsilons", reach[k],
                  e.slope / (double)REAL_EPSILON);
        pool_free(&pool);
    }
}

static double loss(void *context)
{
    return oracle_value(*(double *)context, NONE);
}

Test(gelu, slope_matches_finite_differences)
{
    for (double x = -6; x <= 6; x += 0.125) {
        double at = x, want = 0;
        oracle_slopes(&want, &at, 1, loss, &at);
        const real v = (real)x, one = 1;
        real dx;
        gelu_backward(&lane_alone, &dx, &one, &v, 1, 1);
        cr_assert(fabs((double)dx - want) <= ORACLE_SLOPE_LIMIT, "at %g: %.9g, not %.9g", x, (double)dx, want);
    }
}

Test(gelu, harness_catches_planted_faults)
{
    struct pool pool = {0};
    const real *x = sweep(&pool, -3, 3);
    for (int fault = NONE + 1; fault < FAULTS; fault++) {
        const struct errors e = gelu_errors(x, SWEEP, (enum fault)fault);
        cr_assert(e.value > LIMIT, "fault %d passes unseen in the value", fault);
        cr_assert(e.slope > SLOPE_LIMIT, "fault %d passes unseen in the slope", fault);
    }
    pool_free(&pool);
}

Test(gelu, far_out_is_exactly_zero_or_the_input_and_finite_everywhere)
{
    for (double size = 16; size <= 1e12; size *= 2) {
        const real x[2] = {(real)-size, (real)size}, dy[2] = {1, 1};
        real y[2], dx[2];
        gelu_forward(&lane_alone, y, x, 1, 2);
        gelu_backward(&lane_alone, dx, dy, x, 1, 2);
        if (size >= 32) { /* nearer by, double still has a true tail */
            cr_assert(y[0] == 0 && y[1] == x[1], "values at %g: %g and %g", size, (double)y[0], (double)y[1]);
            cr_assert(dx[0] == 0 && dx[1] == 1, "slopes at %g: %g and %g", size, (double)dx[0], (double)dx[1]);
        }
        cr_assert(isfinite(y[0]) && isfinite(y[1]) && isfinite(dx[0]) && isfinite(dx[1]));
    }
    const real top = (real)1e12, one = 1;
    real dx;
    gelu_backward(&lane_alone, &dx, &one, &top, 1, 1);
    cr_assert(dx == 1);
    const real nan = (real)NAN;
    real y;
    gelu_forward(&lane_alone, &y, &nan, 1, 1);
    gelu_backward(&lane_alone, &dx, &one, &nan, 1, 1);
    cr_assert(isnan(y) && isnan(dx));
}

struct call {
    real *y, *dx;
    const real *x, *dy;
    size_t N, C;
};

static void work(const struct lane *lane, void *context)
{
    const struct call *c = context;
    gelu_forward(lane, c->y, c->x, c->N, c->C);
    gelu_backward(lane, c->dx, c->dy, c->x, c->N, c->C);
}

Test(gelu, every_division_and_aliasing_give_the_same_bits)
{
    for (size_t n = 0; n < ORACLE_SIZES; n++)
        for (size_t k = 0; k < ORACLE_SIZES; k++) {
            struct pool pool = {0};
            struct call c = {.N = oracle_sizes[n], .C = oracle_sizes[k]};
            const size_t size = c.N * c.C;
            c.x = pool_normal(&pool, size, 1, 2);
            c.dy = pool_normal(&pool, size, 2, 1);
            real *y = pool_copy(&pool, c.x, size), *dx = pool_copy(&pool, c.dy, size);
            gelu_forward(&lane_alone, y, y, c.N, c.C);
            gelu_backward(&lane_alone, dx, dx, c.x, c.N, c.C);
            for (size_t d = 0; d < DIVISIONS; d++) {
                c.y = pool_real(&pool, size);
                c.dx = pool_real(&pool, size);
                division_run(&divisions[d], work, &c);
                for (size_t i = 0; i < size; i++)
                    cr_assert(c.y[i] == y[i] && c.dx[i] == dx[i], "N %zu, C %zu, division %zu", c.N, c.C, d);
            }
            pool_free(&pool);
        }
}
