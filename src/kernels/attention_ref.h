/* The textbook: attention that stores every weight. Slow and large on long texts, easy to read, and the
 * oracle that other implementations are held against. See attention.h for the formulas and shapes. */
#ifndef KERNELS_ATTENTION_REF_H
#define KERNELS_ATTENTION_REF_H

#include "kernels/attention_shape.h"

/* Reals of scratch that one lane needs; the scratch passed below is lane->count times this. */
size_t attention_ref_scratch(const struct attention_shape *s);

/*   y        (B,T_q,H,hs) by y_batch, y_stride
 *   rows     each (B,H,T_q), or NULL: nothing is logged
 *   weights  (B,H,T_q,T_k): p_ij before dropout; exactly 0 where the rule shows nothing
 *   drop     NULL or p = 0: no dropout
 * A NaN or infinity in a key or value reaches no row that does not see it. Each lane does its share of the B * H
 * heads, whole batch rows where the lanes divide B; a barrier must stand before (q, k, v complete) and after. */
void attention_ref_forward(const struct lane *lane, real *restrict y, const struct attention_rows *rows,
                           real *restrict weights, const real *q, const real *k, const real *v,
                           const struct attention_shape *s, const struct dropout *drop, real *scratch);

/* dq, dk, dv, assigned, in the layout of q, k, v. dy in that of y; weights as the forward pass left them. Each lane
 * does its share of the B * H_kv groups of heads that share keys and values; barriers as above. */
void attention_ref_backward(const struct lane *lane, real *restrict dq, real *restrict dk, real *restrict dv,
                            const real *dy, const real *weights, const real *q, const real *k, const real *v,
                            const struct attention_shape *s, const struct dropout *drop, real *scratch);

#endif
