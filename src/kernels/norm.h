/* The length of a long vector, exactly reproducible: chunks of fixed size are summed in double on any number of
 * lanes, then added in order, so that the result does not depend on the number of threads. */
#ifndef KERNELS_NORM_H
#define KERNELS_NORM_H

#include <stddef.h>

#include "base/real.h"
#include "base/team.h"

/* How many partial sums n numbers make. */
size_t norm_partials(size_t n);

/* partial[k] = sum of squares of chunk k. Each lane does its chunks. */
void norm_squares(const struct lane *lane, double *restrict partial, const real *x, size_t n);

/* sqrt of the sum of all partials, after a barrier. NaN or infinity in x gives NaN or infinity. */
double norm_finish(const double *partial, size_t n);

#endif
