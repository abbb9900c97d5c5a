/* A few rows times a matrix: y = x W + b where W is read from memory once, whatever the number of rows. That is all
 * the work there is when a model writes one symbol at a time; gemm is made for many rows and copies W first.
 *
 * Every sum runs in one order that does not depend on N, on the columns asked for or on the instruction set: a row
 * gets the same bits alone and among others. */
#ifndef KERNELS_MATVEC_H
#define KERNELS_MATVEC_H

#include <stddef.h>

#include "base/real.h"
#include "base/team.h"

/* The most rows for which this is faster than gemm at any size that does not fit in cache. */
#define MATVEC_ROWS 8

/* y[n,o] = bias[o] + sum_i x[n,i] W[i,o]        for outputs o in [columns.begin, columns.end)
 *   y (N,out)   x (N,in)   bias (out) or NULL   y must not alias the others
 *   w (in,out)  rows `stride` reals apart
 * i runs upwards, bias first. The lane says which instruction set; it does all that is asked for. */
void matvec_forward(const struct lane *lane, real *restrict y, const real *x, const real *w, const real *bias, size_t N,
                    size_t in, size_t out, size_t stride, struct span columns);

/* The same with W stored (out,in): y[n,o] = bias[o] + x_n . w_o, the product summed as vmath_dot does. */
void matvec_forward_transposed(const struct lane *lane, real *restrict y, const real *x, const real *w,
                               const real *bias, size_t N, size_t in, size_t out, size_t stride, struct span columns);

#endif
