#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/gemm.h"
#include "kernels/linear.h"
#include "support/division.h"
#include "support/oracle.h"

TestSuite(linear, .init = gemm_setup);

#define LIMIT (32 * (double)REAL_EPSILON)

enum fault { NONE, FLIPPED_SIGN, LAST_BIAS_MISSING, LAST_INPUT_MISSING, FAULTS };

/* One layer: inputs as the kernel sees them, the same in double for the oracle, and what the kernel gave. */
struct layer {
    struct linear_weight w;
    size_t N;
    enum fault fault;
    real *x, *values, *bias, *dy, *y, *dx, *dw, *dbias;
    double *wide_x, *wide_values, *wide_bias, *wide_dy, *wide_y;
};

static void oracle_forward(struct layer *l)
{
    const size_t in = l->w.in, out = l->w.out;
    for (size_t n = 0; n < l->N; n++)
        for (size_t o = 0; o < out; o++) {
            const bool skip = l->fault == LAST_BIAS_MISSING && o == out - 1;
            double sum = l->bias && !skip ? l->wide_bias[o] : 0;
            for (size_t i = 0; i < in - (l->fault == LAST_INPUT_MISSING); i++) {
                const double w = l->wide_values[l->w.transposed ? o * in + i : i * out + o];
                sum += l->wide_x[n * in + i] * (l->fault == FLIPPED_SIGN && i + o == 0 ? -w : w);
            }
            l->wide_y[n * out + o] = sum;
        }
}

static double oracle_loss(void *context)
{
    struct layer *l = context;
    oracle_forward(l);
    return oracle_dot(l->wide_dy, l->wide_y, l->N * l->w.out);
}

static void work(const struct lane *lane, void *context)
{
    struct layer *l = context;
    linear_forward(lane, l->y, l->x, &l->w, l->bias, l->N);
    linear_backward_input(lane, l->dx, l->dy, &l->w, l->N);
    linear_backward_weight(lane, l->dw, l->dbias, l->x, l->dy, &l->w, l->N);
}

struct errors {
    double y, dx, dw, dbias;
};

/* The worst errors over all divisions of the work. */
static struct errors layer_errors(size_t N, size_t in, size_t out, bool transposed, bool bias, enum fault fault)
{
    struct pool pool = {0};
    struct layer l = {.w = {.in = in, .out = out, .transposed = transposed}, .N = N, .fault = fault};
    l.x = pool_normal(&pool, N * in, 1, 1);
    l.w.values = l.values = pool_normal(&pool, in * out, 2, 1);
    l.bias = bias ? pool_normal(&pool, out, 3, 1) : NULL;
    l.dy = pool_normal(&pool, N * out, 4, 1);
    l.wide_x = pool_widen(&pool, l.x, N * in);
    l.wide_values = pool_widen(&pool, l.values, in * out);
    l.wide_bias = bias ? pool_widen(&pool, l.bias, out) : NULL;
    l.wide_dy = pool_widen(&pool, l.dy, N * out);
    l.wide_y = pool_double(&pool, N * out);
    /* weight gradients join what is there */
    const real *dw = pool_normal(&pool, in * out, 5, 1), *dbias = pool_normal(&pool, out, 6, 1);
    double *want_dx = pool_double(&pool, N * in);
    double *want_dw = pool_widen(&pool, dw, in * out), *want_dbias = pool_widen(&pool, dbias, out);
    oracle_slopes(want_dx, l.wide_x, N * in, oracle_loss, &l);
    oracle_slopes(want_dw, l.wide_values, in * out, oracle_loss, &l);
    if (bias)
        oracle_slopes(want_dbias, l.wide_bias, out, oracle_loss, &l);
    oracle_forward(&l);
    struct errors worst = {0};
    for (size_t d = 0; d < DIVISIONS; d++) {
        l.y = pool_real(&pool, N * out);
        l.dx = pool_real(&pool, N * in);
        l.dw = pool_copy(&pool, dw, in * out);
        l.dbias = bias ? pool_copy(&pool, dbias, out) : NULL;
        division_run(&divisions[d], work, &l);
        worst.y = fmax(worst.y, oracle_error(l.y, l.wide_y, N * out));
        worst.dx = fmax(worst.dx, oracle_error(l.dx, want_dx, N * in));
        worst.dw = fmax(worst.dw, oracle_error(l.dw, want_dw, in * out));
        worst.dbias = bias ? fmax(worst.dbias, oracle_error(l.dbias, want_dbias, out)) : 0;
    }
    pool_free(&pool);
    return worst;
}

static bool right(const struct errors *e)
{
    return e->y <= LIMIT && e->dx <= ORACLE_SLOPE_LIMIT && e->dw <= ORACLE_SLOPE_LIMIT &&
           e->dbias <= ORACLE_SLOPE_LIMIT;
}

Test(linear, value_and_gradients_match_the_oracle_under_every_division)
{
    static const size_t sizes[][3] = {{1, 1, 1},    {1, 16, 17},  {15, 1, 16}, {16, 15, 1},
                                      {17, 16, 15}, {16, 16, 16}, {5, 17, 7},  {37, 7, 13}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int transposed = 0; transposed < 2; transposed++)
            for (int bias = 0; bias < 2; bias++) {
                const struct errors e = layer_errors(sizes[k][0], sizes[k][1], sizes[k][2], transposed, bias, NONE);
                cr_assert(right(&e), "N %zu, in %zu, out %zu, transposed %d, bias %d: y %.3g dx %.3g dw %.3g db %.3g",
                          sizes[k][0], sizes[k][1], sizes[k][2], transposed, bias, e.y, e.dx, e.dw, e.dbias);
            }
}

Test(linear, harness_catches_planted_faults_in_the_value_and_in_each_gradient)
{
    for (int fault = NONE + 1; fault < FAULTS; fault++) {
        const struct errors e = layer_errors(5, 6, 7, false, true, (enum fault)fault);
        cr_assert(e.y > LIMIT, "fault %d: value", fault);
        if (fault == LAST_BIAS_MISSING)
            cr_assert(e.dbias > ORACLE_SLOPE_LIMIT);
        else
            cr_assert(e.dx > ORACLE_SLOPE_LIMIT, "fault %d: dx", fault);
        if (fault != LAST_BIAS_MISSING)
            cr_assert(e.dw > ORACLE_SLOPE_LIMIT, "fault %d: dw", fault);
    }
}

struct shared {
    struct linear_weight w;
    const real *x, *bias;
    real *y;
    size_t N;
};

static void forward(const struct lane *lane, void *context)
{
    const struct shared *c = context;
    linear_forward(lane, c->y, c->x, &c->w, c->bias, c->N);
}

/* A part of wider rows, as queries are of W_QKV, and columns that lanes share: the same numbers. */
Test(linear, parts_of_a_matrix_and_shared_columns_give_what_the_whole_does)
{
    enum { IN = 24, OUT = 70, FIRST = 33, MOST = 12 };
    for (size_t N = 1; N <= MOST; N += 11)
        for (int transposed = 0; transposed < 2; transposed++) {
            struct pool pool = {0};
            const real *x = pool_normal(&pool, MOST * IN, 1, 1), *values = pool_normal(&pool, IN * OUT, 2, 1),
                       *bias = pool_normal(&pool, OUT, 3, 1);
            struct shared c = {{.values = values, .in = IN, .out = OUT, .transposed = transposed}, x, bias, NULL, N};
            real *whole = c.y = pool_real(&pool, N * OUT);
            forward(&lane_alone, &c);
            c.w.share_columns = true;
            for (size_t d = 0; d < DIVISIONS; d++) {
                c.y = pool_real(&pool, N * OUT);
                division_run(&divisions[d], forward, &c);
                cr_assert(oracle_error(c.y, pool_widen(&pool, whole, N * OUT), N * OUT) <= LIMIT);
            }
            c.w = (struct linear_weight){.values = values + (transposed ? FIRST * IN : FIRST),
                                         .in = IN,
                                         .out = OUT - FIRST,
                                         .transposed = transposed,
                                         .stride = transposed ? IN : OUT};
            c.bias = bias + FIRST;
            for (size_t d = 0; d < DIVISIONS; d++) {
                c.y = pool_real(&pool, N * (OUT - FIRST));
                division_run(&divisions[d], forward, &c);
                for (size_t n = 0; n < N; n++)
                    cr_assert(oracle_error(c.y + n * (OUT - FIRST),
                                           pool_widen(&pool, whole + n * OUT + FIRST, OUT - FIRST),
                                           OUT - FIRST) <= LIMIT);
            }
            pool_free(&pool);
        }
}

Test(linear, no_rows_leave_everything_as_it_was)
{
    real values[6] = {1, 2, 3, 4, 5, 6}, dw[6] = {6, 5, 4, 3, 2, 1}, dbias[3] = {7, 8, 9}, out[1] = {0};
    const real none[1] = {0};
    const real before[6] = {6, 5, 4, 3, 2, 1};
    const struct linear_weight w = {.values = values, .in = 2, .out = 3};
    linear_forward(&lane_alone, out, none, &w, dbias, 0);
    linear_backward_input(&lane_alone, out, none, &w, 0);
    linear_backward_weight(&lane_alone, dw, dbias, none, none, &w, 0);
    cr_assert(memcmp(dw, before, sizeof dw) == 0);
    cr_assert(dbias[0] == 7 && dbias[1] == 8 && dbias[2] == 9 && out[0] == 0);
}
