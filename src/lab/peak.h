/* What this machine can do: the rate of large matrix products, one on every thread at once, each on matrices of its
 * own. The yardstick that a training step is held against, to be measured in the same run. */
#ifndef LAB_PEAK_H
#define LAB_PEAK_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/real.h"
#include "base/status.h"
#include "base/team.h"

#define PEAK_SIZE 2048 /* the usual matrices: PEAK_SIZE rows and columns */

struct peak {
    size_t n;
    struct team team;
    real *a, *b, *c;        /* (lanes,n,n) */
    uint32_t *left, *right; /* (lanes): a and b packed for products in bf16 */
    struct arena arena;
};

/* Takes the matrices and fills them. n and team.threads > 0 (asserted). STATUS_RANGE, STATUS_MEMORY. */
enum status peak_create(struct peak *p, size_t n, struct team team, struct error *err);
void peak_free(struct peak *p);

/* One product on every thread: OpenBLAS's in fp32, or gemm_bf16.h's of factors packed beforehand. Returns the FLOP a
 * second of all together: 2 n^3 for each. */
double peak_measure(struct peak *p);
double peak_measure_bf16(struct peak *p);

#endif
