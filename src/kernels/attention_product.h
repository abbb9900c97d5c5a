/* Matrix products of one tile of attention. Weights w stand as in attention_tile.h, (keys,queries) by ld. */
#ifndef KERNELS_ATTENTION_PRODUCT_H
#define KERNELS_ATTENTION_PRODUCT_H

#include "kernels/attention_tile.h"

/* w = alpha X Y^T; each number comes from one key and one query, so what the rule hides is computed and is not to be
 * read. Forward and backward must ask for scores alike, to get the same bits: at scores of 1e4 one bit is worth 1e-3 of
 * a weight.
 *   x  (keys,hs) by ld_x      yt  (hs,queries) by ld: Y transposed; small products take rows faster than columns */
void attention_product_of_pairs(real *w, size_t ld, real alpha, const real *x, size_t ld_x, const real *yt,
                                const struct attention_tile *t, size_t hs);

/* What a product with weights reads and writes: out = alpha W X, or with `add` out += alpha W X. */
struct attention_side {
    real *out;
    size_t ld_out;
    bool add;
    const real *x;
    size_t ld_x;
};

/* out (queries,hs) from x (keys,hs), and out (keys,hs) from x (queries,hs). w is exactly 0 for what is hidden. What is
 * not finite in a row of x reaches the rows of out that see it and no others, whose bits it does not change.
 *   clean  (rows of x, hs): scratch */
void attention_product_to_queries(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                                  size_t ld, const struct attention_tile *t, size_t hs, real *clean);
void attention_product_to_keys(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                               size_t ld, const struct attention_tile *t, size_t hs, real *clean);

#endif
