/* One transformer block, pre-norm:
 *   mid = x   + drop(attention(LN1(x)) W_O + b_O)
 *   out = mid + drop(gelu(LN2(mid) W_fc + b_fc) W_out + b_out)
 * Forward and backward stand side by side in block.c. */
#ifndef MODEL_BLOCK_H
#define MODEL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/team.h"
#include "model/gpt.h"
#include "model/work.h"

/* Where one block's tensors lie in a block of all parameters, or of all gradients. Absent biases are NULL. */
struct block_params {
    real *ln1_gain, *ln1_bias, *qkv, *qkv_bias, *proj, *proj_bias;
    real *ln2_gain, *ln2_bias, *fc, *fc_bias, *fc_out, *fc_out_bias;
};

/* values (table.size), or NULL, which gives all NULL. */
struct block_params block_params(const struct params_table *t, real *values, size_t layer);

/* Keys and values that decoding keeps, of one layer, for the rows of a batch. All rows are equally long. */
struct block_cache {
    real *k, *v;     /* (rows,capacity,C), from the first row of the pass on */
    size_t capacity; /* positions */
    size_t past;     /* positions already there; the new ones are appended */
};

/* What one pass over a block needs beside its numbers. */
struct block_pass {
    const struct gpt *model;
    size_t layer;
    size_t B, T;                     /* B = 1 or T = 1 with a cache */
    const struct gpt_pass *pass;     /* training or not, and the random counters */
    const struct block_cache *cache; /* NULL: keys and values are those of this pass */
    bool last_alone;                 /* with a cache: only the last position's result is wanted */
};

/* Positions of each batch row that a->out will hold: T, or 1. */
size_t block_results(const struct block_pass *p);

/* x (N,C) in, a->out (B, block_results, C) the result (which may be x itself, unless it holds the last positions
 * alone). w lends branch and scratch. All lanes call it.
 * A pass with a cache and T = 1 is a step of decoding: lanes share the columns of every product, and each row gets the
 * bits that it would get alone. Barriers stand inside, also after the last product; x is divided by rows as ever. */
void block_forward(const struct lane *lane, const real *x, struct block_acts *a, struct work *w,
                   const struct block_pass *p);

/* w->dres holds the gradient of a->out and gets that of x. Weight gradients are added to grads (table.size); NULL
 * leaves them out. No cache. All lanes call it, with a barrier before. */
void block_backward(const struct lane *lane, const real *x, const struct block_acts *a, struct work *w, real *grads,
                    const struct block_pass *p);

#endif
