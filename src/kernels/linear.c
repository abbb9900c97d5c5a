#include "kernels/linear.h"

#include <assert.h>

#include "kernels/gemm.h"
#include "kernels/linear_bf16.h"
#include "kernels/matvec.h"
#include "kernels/variants.h"

/* Weights are shared out in strips of this many, so that no two lanes write one cache line. */
#define GRAIN 16

static size_t stored_width(const struct linear_weight *w)
{
    return w->stride > 0 ? w->stride : w->transposed ? w->in : w->out;
}

/* These outputs of some rows, where there are few rows. */
static void few_rows(const struct lane *lane, real *restrict y, const real *x, const struct linear_weight *w,
                     const real *bias, size_t N, struct span columns)
{
    if (w->transposed)
        matvec_forward_transposed(lane, y, x, w->values, bias, N, w->in, w->out, stored_width(w), columns);
    else
        matvec_forward(lane, y, x, w->values, bias, N, w->in, w->out, stored_width(w), columns);
}

/* y[n,:] = bias */
VARIANTS(static void, fill, (const struct lane *lane, real *restrict y, const real *bias, size_t rows, size_t out),
         (lane, y, bias, rows, out))
{
    (void)lane; /* it chose this variant */
    for (size_t n = 0; n < rows; n++)
        for (size_t o = 0; o < out; o++)
            y[n * out + o] = bias[o];
}

/* dbias[o] += sum_n dy[n,o], for this lane's share. forward: y[n,o] += bias[o] */
VARIANTS(static void, add_columns,
         (const struct lane *lane, real *restrict dbias, const real *dy, size_t N, size_t out),
         (lane, dbias, dy, N, out))
{
    const struct span s = lane_span(lane, out, GRAIN);
    for (size_t n = 0; n < N; n++)
        for (size_t o = s.begin; o < s.end; o++)
            dbias[o] += dy[n * out + o];
}

void linear_forward(const struct lane *lane, real *restrict y, const real *x, const struct linear_weight *w,
                    const real *bias, size_t N)
{
    assert(w->in > 0 && w->out > 0);
    assert(!w->room || (w->stride == 0 && !w->share_columns));
    if (w->share_columns) {
        few_rows(lane, y, x, w, bias, N, lane_span(lane, w->out, GRAIN));
        return;
    }
    const struct span s = lane_span(lane, N, 1);
    const size_t rows = s.end - s.begin;
    real *y_s = y + s.begin * w->out;
    if (!w->room && N <= MATVEC_ROWS) {
        few_rows(lane, y_s, x + s.begin * w->in, w, bias, rows, (struct span){0, w->out});
        return;
    }
    if (bias)
        fill(lane, y_s, bias, rows, w->out);
    if (w->room) {
        linear_bf16_forward(lane, y, x, w, N, bias != NULL);
        return;
    }
    gemm(GEMM_PLAIN, w->transposed ? GEMM_TRANSPOSED : GEMM_PLAIN, rows, w->out, w->in, 1, x + s.begin * w->in, w->in,
         w->values, stored_width(w), bias ? 1 : 0, y_s, w->out);
}

void linear_backward_input(const struct lane *lane, real *restrict dx, const real *dy, const struct linear_weight *w,
                           size_t N)
{
    assert(w->in > 0 && w->out > 0 && w->stride == 0);
    if (w->room) {
        linear_bf16_backward_input(lane, dx, dy, w, N);
        return;
    }
    const struct span s = lane_span(lane, N, 1);
    /* forward: y_n = x_n W, so dx_n = dy_n W^T */
    gemm(GEMM_PLAIN, w->transposed ? GEMM_PLAIN : GEMM_TRANSPOSED, s.end - s.begin, w->in, w->out, 1,
         dy + s.begin * w->out, w->out, w->values, stored_width(w), 0, dx + s.begin * w->in, w->in);
}

void linear_backward_weight(const struct lane *lane, real *restrict dw, real *restrict dbias, const real *x,
                            const real *dy, const struct linear_weight *w, size_t N)
{
    assert(w->in > 0 && w->out > 0 && w->stride == 0);
    /* forward: y[n,o] += x[n,i] W[i,o], so dW[i,o] += x[n,i] dy[n,o]; the stored rows are shared out. */
    if (w->room) {
        linear_bf16_backward_weight(lane, dw, x, dy, w, N);
    } else if (w->transposed) {
        const struct span s = lane_span(lane, w->out, GRAIN);
        gemm(GEMM_TRANSPOSED, GEMM_PLAIN, s.end - s.begin, w->in, N, 1, dy + s.begin, w->out, x, w->in, 1,
             dw + s.begin * w->in, w->in);
    } else {
        const struct span s = lane_span(lane, w->in, GRAIN);
        gemm(GEMM_TRANSPOSED, GEMM_PLAIN, s.end - s.begin, w->out, N, 1, x + s.begin, w->in, dy, w->out, 1,
             dw + s.begin * w->out, w->out);
    }
    if (dbias)
        add_columns(lane, dbias, dy, N, w->out);
}
