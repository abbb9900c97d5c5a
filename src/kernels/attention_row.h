/* Attention of one query, as decoding asks for it: no tiles, one walk over the keys that it sees. */
#ifndef KERNELS_ATTENTION_ROW_H
#define KERNELS_ATTENTION_ROW_H

#include "kernels/attention.h"

/* One head of one batch row: pointers to its position 0, T_q = 1, no dropout. Row `row` of rows and kept (each may be
 * NULL) is filled. Only keys and values in `seen` are read. */
void attention_row_forward(const struct lane *lane, real *restrict y, const struct attention_rows *rows,
                           const struct attention_kept *kept, size_t row, const real *q, const real *k, const real *v,
                           const struct attention_shape *s, struct attention_interval seen);

#endif
