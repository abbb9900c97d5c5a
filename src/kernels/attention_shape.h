/* Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762), many heads at once.
 *
 *   s_ij = scale * q_i . k_j      for every key j that the rule shows to query i
 *   p_ij = exp(s_ij - lse_i),     lse_i = ln sum_j exp(s_ij)
 *   y_i  = sum_j drop(p_ij) v_j
 *
 * This header is what both implementations share: attention_ref.h, the textbook, and attention.h, tiled. */
#ifndef KERNELS_ATTENTION_SHAPE_H
#define KERNELS_ATTENTION_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/real.h"
#include "base/team.h"
#include "kernels/dropout.h"

/* What a head may see, declared by the model: for each query an interval of keys. */
enum attention_rule {
    ATTENTION_CAUSAL, /* itself and what came before */
    ATTENTION_FULL,   /* everything, future included */
    ATTENTION_WINDOW, /* itself and what came before, the last `window` positions of that */
};

/* Mistakes that can be planted, to see that they are found: attention_fault.h. */
enum attention_fault {
    ATTENTION_FAULT_NONE,
    ATTENTION_FAULT_NO_MASK,           /* every key is seen */
    ATTENTION_FAULT_TRANSPOSED,        /* the triangle the wrong way round: itself and what comes after */
    ATTENTION_FAULT_ONE_AHEAD,         /* diagonal off by one: i + 1 is seen too */
    ATTENTION_FAULT_NOT_ITSELF,        /* diagonal masked too: the first query sees nothing */
    ATTENTION_FAULT_AFTER_SOFTMAX,     /* weights are masked, not scores: rows do not sum to 1 */
    ATTENTION_FAULT_RENORMALISED,      /* ... and divided by what is left of their sum */
    ATTENTION_FAULT_MINUS_1E4,         /* -1e4 is added to the scores of hidden keys */
    ATTENTION_FAULT_MINUS_1E9,         /* -1e9 is */
    ATTENTION_FAULT_FORWARD_UNMASKED,  /* no mask forward, the right one backward */
    ATTENTION_FAULT_BACKWARD_UNMASKED, /* the right mask forward, none on the gradient of the scores */
    /* ... in the tiled attention */
    ATTENTION_FAULT_TILE_DIAGONAL, /* inside the tiles that the diagonal crosses i + 1 is seen too */
    ATTENTION_FAULT_TILE_EDGE,     /* one tile too many: its last query sees the first key of the next tile */
    ATTENTION_FAULT_WINDOW_EDGE,   /* the window is one position longer than it should be */
    ATTENTION_FAULT_TILE_BACKWARD, /* as the first, in the backward pass alone */
};
#define ATTENTION_EVERY_HEAD ((size_t)-1)

/* Sizes and strides, in reals. Batch row b, position t, head h of q is the hs numbers from
 * q + b * q_batch + t * q_stride + h * hs; likewise k, v, y. Head h reads key/value head
 * h / (H / H_kv). Queries are aligned to the end of the keys: query i stands at position
 * T_k - T_q + i, so that a KV cache and a whole text are the same call. */
struct attention_shape {
    size_t B, H, H_kv, hs, T_q, T_k;
    size_t q_batch, k_batch, v_batch, y_batch;
    size_t q_stride, k_stride, v_stride, y_stride;
    real scale;                       /* usually 1 / sqrt(hs) */
    const enum attention_rule *rules; /* (H): one per head */
    size_t window;                    /* positions that ATTENTION_WINDOW shows; 0: none */
    size_t tile;                      /* queries and keys of a tile, for tests; 0: as attention_tile.h says */
    bool bf16;                        /* attention.h's products round their factors to bf16; attention_ref.h's do not */
    enum attention_fault fault;       /* planted, in this head or in ATTENTION_EVERY_HEAD */
    size_t fault_head;
};

/* Per row, each (B,H,T_q). A row that sees no key has lse = max_score = -INFINITY, entropy 0, y 0. */
struct attention_rows {
    real *lse;       /* natural log of the sum of exponentials */
    real *entropy;   /* nats, before dropout: ln l - sum_j p_ij (s_ij - m), l = sum_j exp(s_ij - m) */
    real *max_score; /* m: the largest visible score */
};

/* Keys that query i (0 .. T_q-1) sees under a rule: [begin, end). Neither moves back as i grows. */
struct attention_interval {
    size_t begin, end;
};
struct attention_interval attention_shape_keys(enum attention_rule rule, size_t window, size_t T_q, size_t T_k,
                                               size_t i);

/* Asserts what every implementation requires: sizes > 0, T_q <= T_k, H a multiple of H_kv. */
void attention_shape_assert(const struct attention_shape *s);

/* Mean over batch and queries of entropy / ln(visible keys), per head: 1 is uniform, 0 one-hot.
 * Rows that see fewer than two keys have no entropy to speak of and are left out.
 *   normalised (H)   NaN where no row sees two keys
 *   max_score  (H)   the largest score of all rows */
void attention_shape_summary(double *normalised, double *max_score, const struct attention_rows *rows,
                             const struct attention_shape *s);

#endif
