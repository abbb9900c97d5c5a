/* Layer normalisation over the last axis (Ba et al. 2016, arXiv:1607.06450). */
#ifndef KERNELS_LAYERNORM_H
#define KERNELS_LAYERNORM_H

#include <stddef.h>

#include "base/real.h"
#include "base/team.h"

/* y[n,:] = (x[n,:] - mean_n) * rstd_n * gain + bias,   rstd_n = 1 / sqrt(var_n + epsilon)
 *   x, y       (N,C)   y may alias x
 *   gain, bias (C)     bias may be NULL
 *   mean, rstd (N)     kept for the backward pass
 * The variance is the biased one (divided by C). Requires C > 0 (asserted). Each lane does its rows. */
void layernorm_forward(const struct lane *lane, real *y, real *restrict mean, real *restrict rstd, const real *x,
                       const real *gain, const real *bias, double epsilon, size_t N, size_t C);

/* dx[n,:] += the gradient through the normalisation, accumulated (it joins the residual stream).
 *   dx, dy, x (N,C)   dx must not alias dy or x. Each lane does its rows. */
void layernorm_backward_input(const struct lane *lane, real *restrict dx, const real *dy, const real *x,
                              const real *mean, const real *rstd, const real *gain, size_t N, size_t C);

/* dgain += sum_n dy[n,:] * xhat[n,:], dbias += sum_n dy[n,:], accumulated; dbias may be NULL.
 * Each lane does its share of the channels and reads all rows: a barrier must stand between the writing of dy
 * and this call. */
void layernorm_backward_weight(const struct lane *lane, real *restrict dgain, real *restrict dbias, const real *dy,
                               const real *x, const real *mean, const real *rstd, size_t N, size_t C);

#endif
