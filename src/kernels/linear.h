/* y = x W + b, rows times matrix. */
#ifndef KERNELS_LINEAR_H
#define KERNELS_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/team.h"

/* Room that products in bf16 need: some for each lane, some for all together. Its size is that of the largest
 * product; see linear_room_sizes. */
struct linear_room {
    uint32_t *lanes; /* (lane->count, lane_words) */
    size_t lane_words;
    uint32_t *shared;
};

/* A weight as linear sees it. Callers fill it from the parameter table and treat it as opaque.
 * With room (NULL: fp32), products are those of bf16.h: factors rounded to bf16, sums in fp32. Then `packed` holds the
 * weight as linear_pack left it, for the forward pass or for the backward one. */
struct linear_weight {
    const real *values; /* (in,out), or (out,in) when transposed (the output head) */
    size_t in, out;
    bool transposed;
    size_t stride;      /* reals from one stored row to the next; 0: they are dense. Forward in fp32 only */
    bool share_columns; /* see linear_forward */
    const struct linear_room *room;
    uint32_t *packed; /* linear_packed_words of it */
};

enum linear_pass { LINEAR_FORWARD, LINEAR_BACKWARD };

/* Words (uint32_t) of `packed`, the larger of both passes. */
size_t linear_packed_words(size_t in, size_t out);

/* The room for products of N rows with weights whose larger side is at most `widest` and, in weights that are
 * transposed, `in` is no more than `shared_cols`, nor `out` in the others.
 * Sizes in words (uint32_t); both are 0 where they would overflow. */
void linear_room_sizes(size_t *lane_words, size_t *shared_words, size_t N, size_t widest, size_t shared_cols);

/* Fills w->packed for linear_forward or for linear_backward_input; nothing in fp32. Each lane does its share: a barrier
 * must stand between this call and those, and between those and the next filling of the same words. */
void linear_pack(const struct lane *lane, const struct linear_weight *w, enum linear_pass pass);

/* y[n,:] = x[n,:] W + bias
 *   y (N,out)   x (N,in)   bias (out) or NULL   y must not alias x
 * Each lane does its share of the rows. With w->share_columns (fp32 only) it does all rows of its share of the outputs
 * instead, so that lanes can share a single row: barriers must stand before and after, and every row gets the bits that
 * it would get alone, whatever N and the number of lanes. */
void linear_forward(const struct lane *lane, real *restrict y, const real *x, const struct linear_weight *w,
                    const real *bias, size_t N);

/* dx[n,:] = dy[n,:] W^T, assigned; dx must not alias dy. Each lane does its share of the rows. */
void linear_backward_input(const struct lane *lane, real *restrict dx, const real *dy, const struct linear_weight *w,
                           size_t N);

/* dw += x^T dy, dbias += sum_n dy[n,:], accumulated; dw has w's layout, dbias may be NULL.
 * Each lane does its share of the weights and reads all N rows: a barrier must stand between the writing of
 * dy and this call, and, in bf16, another one before the next call: both use the shared room. In bf16 all lanes must
 * call it: it holds a barrier of its own. */
void linear_backward_weight(const struct lane *lane, real *restrict dw, real *restrict dbias, const real *x,
                            const real *dy, const struct linear_weight *w, size_t N);

#endif
