/* Attention in tiles, exact, in memory that grows with T and not with T^2: FlashAttention (Dao et al. 2022,
 * arXiv:2205.14135) in the order of FlashAttention-2 (Dao 2023, arXiv:2307.08691). Formulas and shapes:
 * attention_shape.h.
 *
 * Scores exist a tile at a time, of some queries against some keys; what the rule hides wholly is never touched. A row
 * goes over its tiles with the largest score so far m, l = sum exp(s - m) and the output so far, which are scaled
 * when m moves. Going back, scores are worked out again from m and l.
 *
 * In shapes with `bf16` the matrix products round their factors to bf16 and sum in fp32 (gemm_bf16.h): q, k, v and dy,
 * the weights exp(s - m), drop(P) and scale dS. All else is fp32: scores as they come from their product, maxima, sums,
 * entropy. dy_i . y_i, from which dS subtracts, takes dy rounded as dP does, so that what cancels does so exactly. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernels/attention_shape.h"

/* What the backward pass needs to know of each row beside y, each (B,H,T_q). Two numbers where lse would do on paper:
 * at scores of 1e4 the last bit of lse is worth 1e-3 of every weight. */
struct attention_kept {
    real *max;   /* m; 0 in a row whose scores are all -INFINITY or that sees no key */
    real *share; /* 1 / l; there 0 */
};

/* Reals of scratch for all lanes together. Of shapes that differ in T_q and T_k the largest needs the most. */
size_t attention_scratch(const struct attention_shape *s, int lanes);

/*   y     (B,T_q,H,hs) by y_batch, y_stride
 *   rows  each (B,H,T_q), or NULL: nothing is logged; y and kept are the same bits
 *   kept  NULL: no backward pass will follow
 *   drop  NULL or p = 0: no dropout
 * A NaN or infinity in a key or value reaches no row that does not see it. Results do not depend on the number of
 * lanes. Where the lanes divide B each does whole batch rows; a barrier must stand before (q, k, v complete) and
 * after. */
void attention_forward(const struct lane *lane, real *restrict y, const struct attention_rows *rows,
                       const struct attention_kept *kept, const real *q, const real *k, const real *v,
                       const struct attention_shape *s, const struct dropout *drop, real *scratch);

/* dq, dk, dv, assigned, in the layout of q, k, v. dy in that of y; y and kept as the forward pass left them. A NaN or
 * infinity in q or dy reaches dk and dv only of keys that its row sees. Division and barriers as above; where the
 * lanes do not divide B * H_kv there are barriers inside too. */
void attention_backward(const struct lane *lane, real *restrict dq, real *restrict dk, real *restrict dv,
                        const real *dy, const real *y, const struct attention_kept *kept, const real *q, const real *k,
                        const real *v, const struct attention_shape *s, const struct dropout *drop, real *scratch);

#endif
