/* The Gaussian error linear unit in its tanh form (Hendrycks and Gimpel 2016, arXiv:1606.08415), GPT-2's
 * "gelu_new":  y = x/2 (1 + tanh u),  u = sqrt(2/pi) (x + 0.044715 x^3),
 * computed as x sigmoid(2u), the same number with one exponential. */
#ifndef KERNELS_GELU_H
#define KERNELS_GELU_H

#include <stddef.h>

#include "base/real.h"
#include "base/team.h"

/* y = gelu(x); x, y (N,C); y may alias x. Exact limits: 0 far below, x far above. Each lane does its rows. */
void gelu_forward(const struct lane *lane, real *y, const real *x, size_t N, size_t C);

/* dx = dy * gelu'(x), assigned; dx may alias dy. Finite for |x| up to 1e12. */
void gelu_backward(const struct lane *lane, real *dx, const real *dy, const real *x, size_t N, size_t C);

#endif
