/* y = x W + b, rows times matrix. */
#ifndef KERNELS_LINEAR_H
#define KERNELS_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/real.h"
#include "base/team.h"

/* A weight as linear sees it. Callers fill it from the parameter table and treat it as opaque: what else
 * a precision wants to keep beside the numbers stays inside kernels/. */
struct linear_weight {
    const real *values; /* (in,out), or (out,in) when transposed (the output head) */
    size_t in, out;
    bool transposed;
};

/* y[n,:] = x[n,:] W + bias
 *   y (N,out)   x (N,in)   bias (out) or NULL   y must not alias x
 * Each lane does its share of the rows. */
void linear_forward(const struct lane *lane, real *restrict y, const real *x, const struct linear_weight *w,
                    const real *bias, size_t N);

/* dx[n,:] = dy[n,:] W^T, assigned; dx must not alias dy. Each lane does its share of the rows. */
void linear_backward_input(const struct lane *lane, real *restrict dx, const real *dy, const struct linear_weight *w,
                           size_t N);

/* dw += x^T dy, dbias += sum_n dy[n,:], accumulated; dw has w's layout, dbias may be NULL.
 * Each lane does its share of the weights and reads all N rows: a barrier must stand between the writing of
 * dy and this call. */
void linear_backward_weight(const struct lane *lane, real *restrict dw, real *restrict dbias, const real *x,
                            const real *dy, const struct linear_weight *w, size_t N);

#endif
