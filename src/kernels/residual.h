/* The residual stream: a branch's output is added to what it read. */
#ifndef KERNELS_RESIDUAL_H
#define KERNELS_RESIDUAL_H

#include <stddef.h>

#include "base/real.h"
#include "base/team.h"

/* y = x + branch, all (N,C); y may alias either. Its backward pass is the identity on both. Each lane does
 * its rows. */
void residual_forward(const struct lane *lane, real *y, const real *x, const real *branch, size_t N, size_t C);

#endif
