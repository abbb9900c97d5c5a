/* linear.h's products in bf16; linear.c calls them where a weight has room. Each has the contract of its namesake, but
 * for the bias, which linear.c adds. */
#ifndef KERNELS_LINEAR_BF16_H
#define KERNELS_LINEAR_BF16_H

#include "kernels/linear.h"

/* y += x W where add, else y = x W. */
void linear_bf16_forward(const struct lane *lane, real *restrict y, const real *x, const struct linear_weight *w,
                         size_t N, bool add);
void linear_bf16_backward_input(const struct lane *lane, real *restrict dx, const real *dy,
                                const struct linear_weight *w, size_t N);
void linear_bf16_backward_weight(const struct lane *lane, real *restrict dw, const real *x, const real *dy,
                                 const struct linear_weight *w, size_t N);

#endif
