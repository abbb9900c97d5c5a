#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "kernels/adamw.h"
#include "support/division.h"
#include "support/oracle.h"

#define LIMIT (64 * (double)REAL_EPSILON)
#define STEPS 12

enum fault {
    NONE,
    FLIPPED_SIGN,
    NO_CORRECTION,
    DECAY_IN_THE_GRADIENT,
    EPSILON_INSIDE_THE_ROOT,
    GRADIENT_NOT_SCALED,
    BETAS_SWAPPED,
    FAULTS
};

static const struct adamw usual = {
    .lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 0.01, .decay = 0.5, .grad_scale = 0.7, .step = 1};

/* The recurrence for one parameter, as the header states it. */
static void oracle_update(double *p, double *m, double *v, double grad, const struct adamw *o, enum fault fault)
{
    const double beta1 = fault == BETAS_SWAPPED ? o->beta2 : o->beta1;
    const double beta2 = fault == BETAS_SWAPPED ? o->beta1 : o->beta2;
    double g = fault == GRADIENT_NOT_SCALED ? grad : o->grad_scale * grad;
    if (fault == DECAY_IN_THE_GRADIENT)
        g += o->decay * *p;
    else
        *p -= o->lr * o->decay * *p;
    *m = beta1 * *m + (1 - beta1) * g;
    *v = beta2 * *v + (1 - beta2) * g * g;
    const double correct1 = fault == NO_CORRECTION ? 1 : 1 - pow(beta1, (double)o->step);
    const double correct2 = fault == NO_CORRECTION ? 1 : 1 - pow(beta2, (double)o->step);
    const double root =
        fault == EPSILON_INSIDE_THE_ROOT ? sqrt(*v / correct2 + o->epsilon) : sqrt(*v / correct2) + o->epsilon;
    const double move = o->lr * (*m / correct1) / root;
    *p += fault == FLIPPED_SIGN ? move : -move;
}

struct call {
    real *p, *m, *v;
    const real *grad;
    struct adamw o;
    size_t n;
};

static void work(const struct lane *lane, void *context)
{
    const struct call *c = context;
    adamw_update(lane, c->p, c->m, c->v, c->grad, &c->o, c->n);
}

/* The worst error of p, m and v over STEPS updates from `first` on, under one division. */
static double adamw_error(size_t n, const struct division *d, const struct adamw *o, enum fault fault)
{
    struct pool pool = {0};
    struct call c = {.o = *o, .n = n};
    c.p = pool_normal(&pool, n, 1, 1);
    c.m = pool_normal(&pool, n, 2, 0);
    c.v = pool_normal(&pool, n, 3, 0);
    double *p = pool_widen(&pool, c.p, n), *m = pool_widen(&pool, c.m, n), *v = pool_widen(&pool, c.v, n);
    double worst = 0;
    for (uint32_t k = 0; k < STEPS; k++, c.o.step++) {
        const real *grad = pool_normal(&pool, n, 100 + k, k % 3 == 2 ? 30 : 0.1);
        c.grad = grad;
        division_run(d, work, &c);
        for (size_t i = 0; i < n; i++)
            oracle_update(&p[i], &m[i], &v[i], (double)grad[i], &c.o, fault);
        worst = fmax(worst, oracle_error(c.p, p, n));
        worst = fmax(worst, oracle_error(c.m, m, n));
        worst = fmax(worst, oracle_error(c.v, v, n));
    }
    pool_free(&pool);
    return worst;
}

Test(adamw, follows_the_recurrence_for_a_dozen_steps_under_every_division)
{
    static const size_t sizes[] = {1, 63, 64, 65, 257};
    static const uint64_t firsts[] = {1, 100, 1000000};
    for (size_t k = 0; k < 5; k++)
        for (size_t f = 0; f < 3; f++)
            for (size_t d = 0; d < DIVISIONS; d++) {
                struct adamw o = usual;
                o.step = firsts[f];
                const double error = adamw_error(sizes[k], &divisions[d], &o, NONE);
                cr_assert(error <= LIMIT, "n %zu from step %ju, division %zu: error %.3g", sizes[k],
                          (uintmax_t)firsts[f], d, error);
            }
}

Test(adamw, harness_catches_planted_faults)
{
    for (int fault = NONE + 1; fault < FAULTS; fault++)
        cr_assert(adamw_error(65, &divisions[0], &usual, (enum fault)fault) > LIMIT, "fault %d passes unseen", fault);
}

/* One update of one parameter from rest. */
static double first_move(double p, double grad, const struct adamw *o)
{
    real value = (real)p, m = 0, v = 0;
    const real g = (real)grad;
    adamw_update(&lane_alone, &value, &m, &v, &g, o, 1);
    return (double)value - p;
}

Test(adamw, first_step_is_the_learning_rate_against_the_gradient_s_sign_at_any_size)
{
    const struct adamw o = {.lr = 0.125, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-30, .grad_scale = 1, .step = 1};
    for (double size = 1e-6; size <= 1e6; size *= 10) {
        cr_assert(fabs(first_move(1, size, &o) + o.lr) <= LIMIT, "gradient %g moves by %g", size,
                  first_move(1, size, &o));
        cr_assert(fabs(first_move(1, -size, &o) - o.lr) <= LIMIT, "gradient %g moves by %g", -size,
                  first_move(1, -size, &o));
    }
}

Test(adamw, decays_only_when_asked_and_whatever_the_gradient_is)
{
    struct adamw o = usual;
    o.decay = 0;
    cr_assert(first_move(2, 0, &o) == 0, "without decay and gradient nothing moves");
    o.decay = 0.5;
    cr_assert(fabs(first_move(2, 0, &o) + 2 * o.lr * 0.5) <= LIMIT);
    cr_assert(fabs(first_move(-2, 0, &o) - 2 * o.lr * 0.5) <= LIMIT);
    struct adamw still = o;
    still.decay = 0;
    const double share = first_move(2, 3, &o) - first_move(2, 3, &still);
    cr_assert(fabs(share + 2 * o.lr * 0.5) <= LIMIT, "decay is apart from the adapted step");
}

Test(adamw, learning_rate_zero_moves_no_weight_but_gathers_the_moments)
{
    struct pool pool = {0};
    struct adamw o = usual;
    o.lr = 0;
    real *p = pool_normal(&pool, 37, 1, 1), *m = pool_normal(&pool, 37, 2, 0), *v = pool_normal(&pool, 37, 3, 0);
    const real *before = pool_copy(&pool, p, 37), *grad = pool_normal(&pool, 37, 4, 1);
    adamw_update(&lane_alone, p, m, v, grad, &o, 37);
    cr_assert(memcmp(p, before, 37 * sizeof *p) == 0);
    for (size_t i = 0; i < 37; i++)
        cr_assert(m[i] != 0 && v[i] > 0);
    pool_free(&pool);
}

Test(adamw, nan_in_one_gradient_spoils_that_parameter_only)
{
    struct pool pool = {0};
    real *p = pool_normal(&pool, 37, 1, 1), *m = pool_normal(&pool, 37, 2, 0), *v = pool_normal(&pool, 37, 3, 0);
    real *grad = pool_normal(&pool, 37, 4, 1);
    grad[11] = (real)NAN;
    adamw_update(&lane_alone, p, m, v, grad, &usual, 37);
    for (size_t i = 0; i < 37; i++)
        cr_assert(isnan(p[i]) == (i == 11));
    pool_free(&pool);
}

Test(adamw, refuses_step_zero, .signal = SIGABRT)
{
    struct adamw o = usual;
    o.step = 0;
    first_move(1, 1, &o);
}
