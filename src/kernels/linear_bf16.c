#include "kernels/linear_bf16.h"

#include <assert.h>

#include "base/checked.h"
#include "kernels/gemm_bf16.h"

/* Rows that are packed and multiplied together: a few kernels' worth, so that they stay in the second cache. */
#define ROWS 96

size_t linear_packed_words(size_t in, size_t out)
{
    const size_t forward = gemm_bf16_b_size(out, in), backward = gemm_bf16_b_size(in, out);
    return forward > backward ? forward : backward;
}

void linear_room_sizes(size_t *lane_words, size_t *shared_words, size_t N, size_t widest, size_t shared_cols)
{
    const size_t longest = N > widest ? N : widest;
    size_t lane, shared;
    if (!checked_mul(&lane, longest, ROWS) || !checked_mul(&shared, N, shared_cols)) {
        *lane_words = *shared_words = 0;
        return;
    }
    *lane_words = gemm_bf16_a_size(ROWS, longest);
    *shared_words = gemm_bf16_b_size(shared_cols, N);
}

void linear_pack(const struct lane *lane, const struct linear_weight *w, enum linear_pass pass)
{
    if (!w->room)
        return;
    const bool forward = pass == LINEAR_FORWARD;
    const size_t N = forward ? w->out : w->in, K = forward ? w->in : w->out;
    /* stored (K,N)? (in,out) forward, and (out,in), which is transposed, backward */
    const enum gemm_transpose op = forward == w->transposed ? GEMM_TRANSPOSED : GEMM_PLAIN;
    const struct span s = lane_span(lane, gemm_bf16_panels(N), 1);
    gemm_bf16_pack_b(lane, w->packed, op, w->values, w->transposed ? w->in : w->out, N, K, s.begin, s.end);
}

static uint32_t *own_room(const struct lane *lane, const struct linear_room *room)
{
    return room->lanes + (size_t)lane->index * room->lane_words;
}

/* out (rows,N) = or += x (rows,K) packed, for this lane's rows. */
static void rows_times(const struct lane *lane, real *out, const real *x, const struct linear_weight *w, size_t rows,
                       size_t N, size_t K, bool add)
{
    const struct span s = lane_span(lane, rows, 1);
    uint32_t *a = own_room(lane, w->room);
    assert(gemm_bf16_a_size(ROWS, K) <= w->room->lane_words);
    for (size_t m = s.begin; m < s.end; m += ROWS) {
        const size_t some = s.end - m < ROWS ? s.end - m : ROWS;
        gemm_bf16_pack_a(lane, a, GEMM_PLAIN, x + m * K, K, some, K);
        gemm_bf16(lane, out + m * N, N, some, N, K, a, w->packed, add);
    }
}

void linear_bf16_forward(const struct lane *lane, real *restrict y, const real *x, const struct linear_weight *w,
                         size_t N, bool add)
{
    rows_times(lane, y, x, w, N, w->out, w->in, add);
}

void linear_bf16_backward_input(const struct lane *lane, real *restrict dx, const real *dy,
                                const struct linear_weight *w, size_t N)
{
    rows_times(lane, dx, dy, w, N, w->in, w->out, false); /* forward: y_n = x_n W, so dx_n = dy_n W^T */
}

void linear_bf16_backward_weight(const struct lane *lane, real *restrict dw, const real *x, const real *dy,
                                 const struct linear_weight *w, size_t N)
{
    /* forward: y[n,o] += x[n,i] W[i,o], so dW[i,o] += x[n,i] dy[n,o]; the stored rows are shared out. */
    const real *left = w->transposed ? dy : x, *right = w->transposed ? x : dy;
    const size_t rows = w->transposed ? w->out : w->in, cols = w->transposed ? w->in : w->out;
    const struct span panels = lane_span(lane, gemm_bf16_panels(cols), 1);
    gemm_bf16_pack_b(lane, w->room->shared, GEMM_PLAIN, right, cols, cols, N, panels.begin, panels.end);
    lane_barrier(lane);
    const struct span s = lane_span(lane, rows, 16);
    uint32_t *a = own_room(lane, w->room);
    assert(gemm_bf16_a_size(ROWS, N) <= w->room->lane_words);
    for (size_t m = s.begin; m < s.end; m += ROWS) {
        const size_t some = s.end - m < ROWS ? s.end - m : ROWS;
        gemm_bf16_pack_a(lane, a, GEMM_TRANSPOSED, left + m, rows, some, N);
        gemm_bf16(lane, dw + m * cols, cols, some, cols, N, a, w->room->shared, true);
    }
}
