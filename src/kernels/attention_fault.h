/* Deliberate mistakes in attention, each one that people really make, so that detectors can be shown to find them.
 * A fault is never a rule that a model declares, and all that is wrong is what this file says. Most are acted out by
 * the reference attention; those of tiles, off by one as tiled code can be, by the tiled one. */
#ifndef KERNELS_ATTENTION_FAULT_H
#define KERNELS_ATTENTION_FAULT_H

#include <stdbool.h>

#include "kernels/attention_shape.h"

/* What takes part in a row: in the softmax, in the product with values, in the gradient of the scores. */
enum attention_stage { ATTENTION_SCORES, ATTENTION_VALUES, ATTENTION_BACKWARD };

/* The keys of query i of head h at a stage, a planted fault included. With none: attention_shape_keys. */
struct attention_interval attention_fault_keys(const struct attention_shape *s, size_t h, enum attention_stage stage,
                                               size_t i);

/* Whether the tiled attention acts it out: then only attention_fault_keys has a part in it. */
bool attention_fault_is_of_tiles(enum attention_fault fault);

/* Before the softmax: adds the finite constant that stands for a mask.   scores (T_k) */
void attention_fault_scores(real *scores, const struct attention_shape *s, size_t h, size_t i);

/* After the softmax: what a mask applied to the weights does.   weights (T_k) */
void attention_fault_weights(real *weights, const struct attention_shape *s, size_t h, size_t i);

/* Gradient of a row of scores where the backward pass takes all keys for seen: the softmax of all of them is worked out
 * again from q and k. False, with nothing done, when that is not the fault.
 *   ds  (T_k)  dP on entry, P (dP - sum_j P_j dP_j) on return
 *   q_i (hs), k (T_k,hs) by k_stride */
bool attention_fault_unmasked_ds(real *ds, const real *q_i, const real *k, const struct attention_shape *s, size_t h,
                                 size_t i);

/* The weights whose transpose carries dy to dv: `kept` itself, or where the backward pass masks what the forward pass
 * did not, a masked copy in `room`.   kept, room (T_q,T_k), may be the same */
const real *attention_fault_values(real *room, const real *kept, const struct attention_shape *s, size_t h);

/* In a tile of scores, where the backward pass sees a key that the forward pass did not: none above m, so that what
 * is planted is a wrong gradient and not an overflow.   s (keys,queries) by ld, m (queries) */
void attention_fault_bound(real *s, size_t ld, size_t keys, size_t queries, const real *m);

#endif
