/* AdamW: Adam (Kingma and Ba 2014, arXiv:1412.6980) with decoupled weight decay (Loshchilov and Hutter 2017,
 * arXiv:1711.05101), in PyTorch's formulation. */
#ifndef KERNELS_ADAMW_H
#define KERNELS_ADAMW_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/team.h"

struct adamw {
    double lr;
    double beta1, beta2;
    double epsilon;
    double decay;      /* already 0 for tensors that do not decay */
    double grad_scale; /* what the gradient is multiplied with first: the clipping factor */
    uint64_t step;     /* 1 for the first update */
};

/* One update of n parameters:
 *   g = grad_scale * grad
 *   p = p - lr decay p
 *   m = beta1 m + (1 - beta1) g
 *   v = beta2 v + (1 - beta2) g^2
 *   p = p - lr (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon)
 * Each lane does its share. step >= 1 (asserted). */
void adamw_update(const struct lane *lane, real *restrict p, real *restrict m, real *restrict v, const real *grad,
                  const struct adamw *o, size_t n);

#endif
