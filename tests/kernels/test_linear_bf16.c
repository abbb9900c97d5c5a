#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/bf16.h"
#include "kernels/gemm.h"
#include "kernels/linear.h"
#include "support/division.h"
#include "support/machine.h"
#include "support/oracle.h"

TestSuite(linear_bf16, .init = gemm_setup);

#define LIMIT (8 * (double)REAL_EPSILON) /* of the size of the terms */

struct layer {
    struct linear_weight w;
    size_t N;
    const real *x, *values, *bias, *dy;
    real *y, *dx, *dw, *dbias;
    uint32_t *packed_back;
};

static void work(const struct lane *lane, void *context)
{
    struct layer *l = context;
    struct linear_weight back = l->w;
    back.packed = l->packed_back;
    linear_pack(lane, &l->w, LINEAR_FORWARD);
    linear_pack(lane, &back, LINEAR_BACKWARD);
    lane_barrier(lane);
    linear_forward(lane, l->y, l->x, &l->w, l->bias, l->N);
    linear_backward_input(lane, l->dx, l->dy, &back, l->N);
    linear_backward_weight(lane, l->dw, l->dbias, l->x, l->dy, &back, l->N);
}

static double factor(real x)
{
    return (double)bf16_round(x);
}

static size_t place(const struct layer *l, size_t i, size_t o)
{
    return l->w.transposed ? o * l->w.in + i : i * l->w.out + o;
}

static void take(double *worst, real found, double sum, double size)
{
    const double error = fabs((double)found - sum) / (size + 1e-300);
    *worst = error <= *worst ? *worst : error; /* NaN is kept */
}

/* The largest error of value and gradients, each over the size of its terms. `old` is what dw and dbias began with. */
static double error_of(const struct layer *l, const real *old_dw, const real *old_dbias)
{
    const size_t in = l->w.in, out = l->w.out;
    double worst = 0;
    for (size_t n = 0; n < l->N; n++)
        for (size_t o = 0; o < out; o++) {
            double sum = l->bias ? (double)l->bias[o] : 0, size = fabs(sum);
            for (size_t i = 0; i < in; i++) {
                const double term = factor(l->x[n * in + i]) * factor(l->values[place(l, i, o)]);
                sum += term;
                size += fabs(term);
            }
            take(&worst, l->y[n * out + o], sum, size);
        }
    for (size_t n = 0; n < l->N; n++)
        for (size_t i = 0; i < in; i++) {
            double sum = 0, size = 0;
            for (size_t o = 0; o < out; o++) {
                const double term = factor(l->dy[n * out + o]) * factor(l->values[place(l, i, o)]);
                sum += term;
                size += fabs(term);
            }
            take(&worst, l->dx[n * in + i], sum, size);
        }
    for (size_t i = 0; i < in; i++)
        for (size_t o = 0; o < out; o++) {
            double sum = (double)old_dw[place(l, i, o)], size = fabs(sum);
            for (size_t n = 0; n < l->N; n++) {
                const double term = factor(l->x[n * in + i]) * factor(l->dy[n * out + o]);
                sum += term;
                size += fabs(term);
            }
            take(&worst, l->dw[place(l, i, o)], sum, size);
        }
    for (size_t o = 0; l->dbias && o < out; o++) {
        double sum = (double)old_dbias[o], size = fabs(sum);
        for (size_t n = 0; n < l->N; n++) { /* a bias is no product: nothing is rounded */
            sum += (double)l->dy[n * out + o];
            size += fabs((double)l->dy[n * out + o]);
        }
        take(&worst, l->dbias[o], sum, size);
    }
    return worst;
}

static double worst_error(size_t N, size_t in, size_t out, bool transposed, bool bias, bool spoiled)
{
    struct pool pool = {0};
    struct layer l = {.w = {.in = in, .out = out, .transposed = transposed}, .N = N};
    l.x = pool_normal(&pool, N * in, 1, 1);
    real *values = pool_normal(&pool, in * out, 2, 1);
    l.w.values = l.values = values;
    l.bias = bias ? pool_normal(&pool, out, 3, 1) : NULL;
    l.dy = pool_normal(&pool, N * out, 4, 1);
    const real *dw = pool_normal(&pool, in * out, 5, 1), *dbias = pool_normal(&pool, out, 6, 1);
    double worst = 0;
    for (size_t d = 0; d < DIVISION_TEAMS; d++) { /* there are barriers */
        struct linear_room room = {0};
        size_t shared;
        linear_room_sizes(&room.lane_words, &shared, N, in > out ? in : out, transposed ? in : out);
        room.lanes = malloc((size_t)divisions[d].lanes * room.lane_words * sizeof *room.lanes);
        room.shared = malloc(shared * sizeof *room.shared);
        l.w.room = &room;
        l.w.packed = malloc(linear_packed_words(in, out) * sizeof *l.w.packed);
        l.packed_back = malloc(linear_packed_words(in, out) * sizeof *l.packed_back);
        cr_assert(room.lanes && room.shared && l.w.packed && l.packed_back);
        l.y = pool_real(&pool, N * out);
        l.dx = pool_real(&pool, N * in);
        l.dw = pool_copy(&pool, dw, in * out);
        l.dbias = bias ? pool_copy(&pool, dbias, out) : NULL;
        division_run(&divisions[d], work, &l);
        if (spoiled)
            values[in * out - 1] += (real)0.1;
        const double error = error_of(&l, dw, dbias);
        worst = error <= worst ? worst : error;
        free(l.packed_back);
        free(l.w.packed);
        free(room.shared);
        free(room.lanes);
    }
    pool_free(&pool);
    return worst;
}

Test(linear_bf16, value_and_gradients_are_those_of_rounded_factors_under_every_division)
{
    static const size_t sizes[][3] = {{1, 1, 1},  {1, 33, 17}, {15, 1, 16},   {32, 31, 64},  {33, 32, 65},
                                      {5, 97, 7}, {97, 7, 13}, {200, 40, 37}, {64, 128, 96}, {2, 65, 130}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int transposed = 0; transposed < 2; transposed++)
            for (int bias = 0; bias < 2; bias++) {
                const double e = worst_error(sizes[k][0], sizes[k][1], sizes[k][2], transposed, bias, false);
                cr_assert(e <= LIMIT, "N %zu, in %zu, out %zu, transposed %d, bias %d: %g", sizes[k][0], sizes[k][1],
                          sizes[k][2], transposed, bias, e);
            }
}

Test(linear_bf16, harness_catches_a_weight_that_was_packed_before_it_changed)
{
    cr_assert(worst_error(5, 6, 7, false, true, true) > LIMIT);
    cr_assert(worst_error(5, 6, 7, true, false, true) > LIMIT);
}

Test(linear_bf16, sizes_that_overflow_are_no_sizes)
{
    size_t lane, shared;
    linear_room_sizes(&lane, &shared, SIZE_MAX / 4, 8, 8);
    cr_assert(lane == 0 && shared == 0);
    linear_room_sizes(&lane, &shared, 8, 8, 8);
    cr_assert(lane > 0 && shared > 0);
}
