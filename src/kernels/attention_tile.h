/* The tiled attention's tiles: how large they are, and what is done to the scores of one between its products. */
#ifndef KERNELS_ATTENTION_TILE_H
#define KERNELS_ATTENTION_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/attention_shape.h"

/* Queries and keys of a tile, measured: a tile of scores fits the first cache, and small products run at the rate of
 * large ones. In a short text, up to ATTENTION_SHORT, the diagonal crosses so many of the tiles that smaller ones, of
 * which less is hidden, cost less. */
#define ATTENTION_TILE_QUERIES 64
#define ATTENTION_TILE_KEYS 64
#define ATTENTION_SHORT 512
#define ATTENTION_TILE_SHORT 32
/* At most, when a shape brings its own. */
#define ATTENTION_TILE_MOST 128

static inline size_t attention_tile_queries(const struct attention_shape *s)
{
    return s->tile ? s->tile : s->T_q <= ATTENTION_SHORT ? ATTENTION_TILE_SHORT : ATTENTION_TILE_QUERIES;
}

static inline size_t attention_tile_keys(const struct attention_shape *s)
{
    return s->tile ? s->tile : ATTENTION_TILE_KEYS;
}

/* What attention_shape_assert does, and that the shape's own tile is at most ATTENTION_TILE_MOST. */
void attention_tile_assert(const struct attention_shape *s);

/* Queries i0 .. i0+queries-1 against keys j0 .. j0+keys-1; query i0+i sees keys j0+begin[i] .. j0+end[i]-1 of them,
 * none where those are equal. whole: every query sees every key.
 *
 * Scores stand with a row for each key, (keys,queries) by ld, so that a vector holds VMATH_LANES queries and no sum
 * goes across it. ld is a multiple of VMATH_LANES; what lies beyond the end of a row may be written. */
struct attention_tile {
    size_t i0, j0, queries, keys;
    bool whole;
    uint16_t begin[ATTENTION_TILE_MOST], end[ATTENTION_TILE_MOST];
};

/* Of each query over the tiles so far: the largest score, sum of exp(s - m), sum of exp(s - m) (s - m), and by what the
 * last tile changed the sums before it: exp(m before - m). Each has room for whole vectors. */
struct attention_tile_state {
    real *m, *l, *a, *moved;
};

/* m = -INFINITY, sums 0: no key seen yet. */
void attention_tile_begin(const struct attention_tile_state *state, size_t queries);

/* Takes a tile of scores into account: s becomes exp(s - m) over visible keys, exactly 0 elsewhere (what
 * stood there is not read). a is kept only with `entropy`; the other results are the same bits without. */
void attention_tile_softmax(const struct lane *lane, real *s, size_t ld, const struct attention_tile *t,
                            const struct attention_tile_state *state, bool entropy);

/* y_i *= moved_i.   y (queries,hs) by stride */
void attention_tile_rescale(const struct lane *lane, real *y, size_t stride, size_t queries, size_t hs,
                            const real *moved);

/* mask (keys,queries) by ld: dropout's, 0 for hidden keys; the position of a draw is query * T_k + key. */
void attention_tile_mask(const struct lane *lane, real *mask, size_t ld, const struct attention_tile *t,
                         const struct dropout *drop, size_t b, size_t h, size_t T_k);

/* p *= mask, both (keys,ld). */
void attention_tile_drop(const struct lane *lane, real *restrict p, size_t ld, size_t keys, const real *restrict mask);

/* y_i /= l_i; 0 for rows that saw nothing. */
void attention_tile_end(const struct lane *lane, real *y, size_t stride, size_t hs,
                        const struct attention_tile_state *state, size_t queries);

/* What m, l and a of some queries say, of which each saw so many keys, to rows->...[row] and on. */
void attention_tile_log(const struct lane *lane, const struct attention_rows *rows, size_t row,
                        const struct attention_tile_state *state, const real *visible, size_t queries);

/* Backward: from scores in p and d drop(P) in ds to drop(P) in p and dS in ds, exactly 0 for hidden keys (what stood
 * there is not read).
 *   m, share, d  (T_q): of all queries of the head, P_ij = exp(s_ij - m_i) share_i, dS_ij = P_ij (dP_ij - d_i)
 *   mask         NULL: no dropout */
void attention_tile_gradient(const struct lane *lane, real *restrict p, real *restrict ds, size_t ld,
                             const struct attention_tile *t, const real *m, const real *share, const real *d,
                             const real *restrict mask);

/* Whether n rows of x, `ld` apart, hold neither NaN nor infinity. */
bool attention_tile_finite(const struct lane *lane, const real *x, size_t ld, size_t n, size_t hs);

/* y (hs,n) by ld_y = the transpose of x (n,hs) by ld_x. */
void attention_tile_transpose(const struct lane *lane, real *y, size_t ld_y, const real *x, size_t ld_x, size_t n,
                              size_t hs);

/* d_i = dy_i . y_i for n rows; with bf16 dy is rounded to that first. */
void attention_tile_row_sums(const struct lane *lane, real *d, const real *dy, const real *y, size_t stride, size_t n,
                             size_t hs, bool bf16);

#endif
