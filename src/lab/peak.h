/* What this machine can do: the rate of large matrix products, one on every thread at once, each on matrices of its
 * own. The yardstick that a training step is held against, to be measured in the same run. */
#ifndef LAB_PEAK_H
#define LAB_PEAK_H

#include <stddef.h>

#include "base/arena.h"
#include "base/real.h"
#include "base/status.h"

#define PEAK_SIZE 2048 /* the usual matrices: PEAK_SIZE rows and columns */

struct peak {
    size_t n;
    int threads;
    real *a, *b, *c; /* (threads,n,n) */
    struct arena arena;
};

/* Takes the matrices and fills them. n, threads > 0 (asserted). STATUS_RANGE, STATUS_MEMORY. */
enum status peak_create(struct peak *p, size_t n, int threads, struct error *err);
void peak_free(struct peak *p);

/* One product on every thread. Returns the FLOP a second of all together: 2 n^3 for each. */
double peak_measure(struct peak *p);

#endif
