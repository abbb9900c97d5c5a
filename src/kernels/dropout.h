/* Dropout (Srivastava et al. 2014, JMLR 15): each number is kept with probability 1 - p and then scaled by
 * 1 / (1 - p). The mask is a function of (site, position), drawn again in the backward pass. */
#ifndef KERNELS_DROPOUT_H
#define KERNELS_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/rng.h"
#include "base/team.h"

struct dropout {
    double p;             /* 0 <= p < 1; 0 is off */
    struct rng_site site; /* row, and head where there is one, are filled in by the kernel */
    uint32_t first_row;   /* number of batch row 0 within the whole step (gradient accumulation) */
};

/* x = drop(x) in place; the backward pass is the same call on the gradient.
 *   x (B,T,C)   t * C + c is the position of a draw within batch row b
 * What is dropped becomes 0 whatever it was. Each lane does its share of the B * T rows. */
void dropout_apply(const struct lane *lane, real *x, const struct dropout *d, size_t B, size_t T, size_t C);

/* mask[j] = 0 or 1 / (1 - p), for positions first .. first+n-1 of batch row b and head h; all of them, by this lane. */
void dropout_mask(const struct lane *lane, real *mask, const struct dropout *d, size_t b, size_t h, size_t first,
                  size_t n);

#endif
