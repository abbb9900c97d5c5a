/* Matrix products of one tile of attention. Weights w stand as in attention_tile.h, (keys,queries) by ld.
 *
 * They are taken in fp32, or with factors rounded to bf16, where there are words to pack those in. */
#ifndef KERNELS_ATTENTION_PRODUCT_H
#define KERNELS_ATTENTION_PRODUCT_H

#include "kernels/attention_tile.h"

/* Where bf16 factors of one product at a time are packed; NULL pointers: products are in fp32.
 *   left   (attention_words_left)                      the factor with a row for each row of the result
 *   right  gemm_bf16_b_size(hs, queries or keys)       the other */
struct attention_words {
    uint32_t *left, *right;
};
size_t attention_words_left(size_t queries, size_t keys, size_t hs);

/* Rows of a tile of queries, prepared once for all its products.
 *   turned  (hs,queries) by ld    the transpose; small products take rows faster than columns
 *   pairs   the same in bf16, gemm_bf16_b_size(queries, hs)
 *   sums    not transposed, in bf16, for sums over queries: gemm_bf16_b_size(hs, queries) */
struct attention_queries {
    real *turned;
    uint32_t *pairs, *sums;
};

/* Fills turned where pairs is NULL, else pairs, and with `backward` sums.   x (queries,hs) by ld_x */
void attention_product_turn(const struct lane *lane, const struct attention_queries *y, size_t ld, const real *x,
                            size_t ld_x, size_t queries, size_t hs, bool backward);

/* w = alpha X Y^T; each number comes from one key and one query, so what the rule hides is computed and is not to be
 * read. Forward and backward must ask for scores alike, to get the same bits: at scores of 1e4 one bit is worth 1e-3 of
 * a weight.
 *   x  (keys,hs) by ld_x */
void attention_product_of_pairs(const struct lane *lane, real *w, size_t ld, real alpha, const real *x, size_t ld_x,
                                const struct attention_queries *y, const struct attention_tile *t, size_t hs,
                                const struct attention_words *words);

/* n weights *= alpha. */
void attention_product_scale(const struct lane *lane, real *w, size_t n, real alpha);

/* What a product with weights reads and writes: out = alpha W X, or with `add` out += alpha W X; alpha is 1 in bf16. */
struct attention_side {
    real *out;
    size_t ld_out;
    bool add;
    const real *x;
    size_t ld_x;
    const struct attention_queries *prepared; /* x, where it is rows of queries and in bf16 */
};

/* out (queries,hs) from x (keys,hs), and out (keys,hs) from x (queries,hs). w is exactly 0 for what is hidden. What is
 * not finite in a row of x (in bf16: as a bf16 holds it) reaches the rows of out that see it and no others, whose bits
 * it does not change.
 *   clean  (rows of x, hs): scratch */
void attention_product_to_queries(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                                  size_t ld, const struct attention_tile *t, size_t hs, real *clean,
                                  const struct attention_words *words);
void attention_product_to_keys(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                               size_t ld, const struct attention_tile *t, size_t hs, real *clean,
                               const struct attention_words *words);

#endif
