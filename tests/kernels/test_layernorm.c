#include <criterion/criterion.h>
#include <math.h>

#include "kernels/layernorm.h"
#include "support/division.h"
#include "support/oracle.h"

#define LIMIT (32 * (double)REAL_EPSILON)
#define EPSILON 0.01 /* large enough to be told from one in another place */

enum fault { NONE, FLIPPED_SIGN, UNBIASED_VARIANCE, EPSILON_OUTSIDE_THE_ROOT, LAST_BIAS_MISSING, FAULTS };

struct layer {
    size_t N, C;
    enum fault fault;
    real *x, *gain, *bias, *dy, *y, *mean, *rstd, *dx, *dgain, *dbias;
    double *wide_x, *wide_gain, *wide_bias, *wide_dy, *wide_y, *wide_mean, *wide_rstd;
};

static void oracle_forward(struct layer *l)
{
    const size_t C = l->C;
    for (size_t n = 0; n < l->N; n++) {
        double mean = 0, variance = 0;
        for (size_t c = 0; c < C; c++)
            mean += l->wide_x[n * C + c] / (double)C;
        for (size_t c = 0; c < C; c++)
            variance += pow(l->wide_x[n * C + c] - mean, 2) / (double)(C - (l->fault == UNBIASED_VARIANCE && C > 1));
        const double rstd =
            l->fault == EPSILON_OUTSIDE_THE_ROOT ? 1 / (sqrt(variance) + EPSILON) : 1 / sqrt(variance + EPSILON);
        for (size_t c = 0; c < C; c++) {
            const double bias = l->bias && !(l->fault == LAST_BIAS_MISSING && c == C - 1) ? l->wide_bias[c] : 0;
            const double xhat = (l->wide_x[n * C + c] - (l->fault == FLIPPED_SIGN ? -mean : mean)) * rstd;
            l->wide_y[n * C + c] = xhat * l->wide_gain[c] + bias;
        }
        l->wide_mean[n] = mean;
        l->wide_rstd[n] = rstd;
    }
}

static double oracle_loss(void *context)
{
    struct layer *l = context;
    oracle_forward(l);
    return oracle_dot(l->wide_dy, l->wide_y, l->N * l->C);
}

static void forward(const struct lane *lane, void *context)
{
    struct layer *l = context;
    layernorm_forward(lane, l->y, l->mean, l->rstd, l->x, l->gain, l->bias, EPSILON, l->N, l->C);
}

static void backward(const struct lane *lane, void *context)
{
    struct layer *l = context;
    layernorm_backward_input(lane, l->dx, l->dy, l->x, l->mean, l->rstd, l->gain, l->N, l->C);
    layernorm_backward_weight(lane, l->dgain, l->dbias, l->dy, l->x, l->mean, l->rstd, l->N, l->C);
}

static void layer_init(struct layer *l, struct pool *pool, size_t N, size_t C, bool bias)
{
    *l = (struct layer){.N = N, .C = C};
    l->x = pool_normal(pool, N * C, 1, 2);
    l->gain = pool_normal(pool, C, 2, 1);
    l->bias = bias ? pool_normal(pool, C, 3, 1) : NULL;
    l->dy = pool_normal(pool, N * C, 4, 1);
    l->wide_x = pool_widen(pool, l->x, N * C);
    l->wide_gain = pool_widen(pool, l->gain, C);
    l->wide_bias = bias ? pool_widen(pool, l->bias, C) : NULL;
    l->wide_dy = pool_widen(pool, l->dy, N * C);
    l->wide_y = pool_double(pool, N * C);
    l->wide_mean = pool_double(pool, N);
    l->wide_rstd = pool_double(pool, N);
    l->y = pool_real(pool, N * C);
    l->mean = pool_real(pool, N);
    l->rstd = pool_real(pool, N);
}

struct errors {
    double value, slope; /* y, mean and rstd; dx, dgain and dbias */
};

static struct errors layer_errors(size_t N, size_t C, bool bias, enum fault fault)
{
    struct pool pool = {0};
    struct layer l;
    layer_init(&l, &pool, N, C, bias);
    l.fault = fault;
    /* every gradient joins what is there */
    const real *dx = pool_normal(&pool, N * C, 5, 1), *dgain = pool_normal(&pool, C, 6, 1),
               *dbias = pool_normal(&pool, C, 7, 1);
    double *want_dx = pool_widen(&pool, dx, N * C), *want_dgain = pool_widen(&pool, dgain, C),
           *want_dbias = pool_widen(&pool, dbias, C);
    oracle_slopes(want_dx, l.wide_x, N * C, oracle_loss, &l);
    oracle_slopes(want_dgain, l.wide_gain, C, oracle_loss, &l);
    if (bias)
        oracle_slopes(want_dbias, l.wide_bias, C, oracle_loss, &l);
    oracle_forward(&l);
    struct errors worst = {0};
    for (size_t d = 0; d < DIVISIONS; d++) {
        l.y = pool_real(&pool, N * C);
        l.dx = pool_copy(&pool, dx, N * C);
        l.dgain = pool_copy(&pool, dgain, C);
        l.dbias = bias ? pool_copy(&pool, dbias, C) : NULL;
        division_run(&divisions[d], forward, &l);
        division_run(&divisions[d], backward, &l);
        worst.value = fmax(worst.value, oracle_error(l.y, l.wide_y, N * C));
        worst.value = fmax(worst.value, oracle_error_over(l.mean, l.wide_mean, N, 1));
        worst.value = fmax(worst.value, oracle_error(l.rstd, l.wide_rstd, N));
        worst.slope = fmax(worst.slope, oracle_error(l.dx, want_dx, N * C));
        worst.slope = fmax(worst.slope, oracle_error(l.dgain, want_dgain, C));
        if (bias)
            worst.slope = fmax(worst.slope, oracle_error(l.dbias, want_dbias, C));
    }
    pool_free(&pool);
    return worst;
}

Test(layernorm, value_and_gradients_match_the_oracle_under_every_division)
{
    static const size_t rows[] = {1, 7, 16};
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < ORACLE_SIZES; c++)
            for (int bias = 0; bias < 2; bias++) {
                const struct errors e = layer_errors(rows[k], oracle_sizes[c], bias, NONE);
                cr_assert(e.value <= LIMIT && e.slope <= ORACLE_SLOPE_LIMIT,
                          "N %zu, C %zu, bias %d: value %.3g, gradient %.3g", rows[k], oracle_sizes[c], bias, e.value,
                          e.slope);
            }
}

Test(layernorm, harness_catches_planted_faults)
{
    for (int fault = NONE + 1; fault < FAULTS; fault++) {
        const struct errors e = layer_errors(5, 7, true, (enum fault)fault);
        cr_assert(e.value > LIMIT, "fault %d passes unseen in the value", fault);
        cr_assert(e.slope > ORACLE_SLOPE_LIMIT, "fault %d passes unseen in the gradient", fault);
    }
}

Test(layernorm, works_in_place_with_the_same_bits)
{
    struct pool pool = {0};
    struct layer l;
    layer_init(&l, &pool, 7, 37, true);
    forward(&lane_alone, &l);
    real *in_place = pool_copy(&pool, l.x, 7 * 37);
    layernorm_forward(&lane_alone, in_place, l.mean, l.rstd, in_place, l.gain, l.bias, EPSILON, 7, 37);
    for (size_t i = 0; i < 7 * 37; i++)
        cr_assert(in_place[i] == l.y[i]);
    pool_free(&pool);
}

Test(layernorm, a_large_mean_costs_no_more_digits_than_the_input_has)
{
    struct pool pool = {0};
    struct layer l;
    const double mean = 4096; /* E[x^2] - E[x]^2 would be off by mean^2 epsilons, more than the variance in float */
    layer_init(&l, &pool, 7, 37, true);
    for (size_t i = 0; i < 7 * 37; i++)
        l.wide_x[i] = (double)(l.x[i] = (real)(mean + (double)l.x[i]));
    oracle_forward(&l);
    forward(&lane_alone, &l);
    const double error = oracle_error(l.y, l.wide_y, 7 * 37);
    cr_assert(error <= 2 * mean * (double)REAL_EPSILON, "error %.3g", error);
    pool_free(&pool);
}

Test(layernorm, constant_rows_give_the_bias_and_finite_gradients)
{
    struct pool pool = {0};
    struct layer l;
    layer_init(&l, &pool, 3, 16, true);
    for (size_t i = 0; i < 3 * 16; i++)
        l.x[i] = (real)(i / 16) * 8; /* 0, 8 and 16: sums of 16 are exact */
    forward(&lane_alone, &l);
    for (size_t i = 0; i < 3 * 16; i++)
        cr_assert(l.y[i] == l.bias[i % 16]);
    real dx[3 * 16] = {0};
    layernorm_backward_input(&lane_alone, dx, l.dy, l.x, l.mean, l.rstd, l.gain, 3, 16);
    for (size_t i = 0; i < 3 * 16; i++)
        cr_assert(isfinite(dx[i]));
    pool_free(&pool);
}

Test(layernorm, nan_spoils_its_own_row_only)
{
    struct pool pool = {0};
    struct layer l;
    layer_init(&l, &pool, 3, 17, false);
    l.x[17 + 16] = (real)NAN;
    forward(&lane_alone, &l);
    for (size_t i = 0; i < 3 * 17; i++)
        cr_assert(!isfinite(l.y[i]) == (i / 17 == 1));
    pool_free(&pool);
}
