#include "kernels/matvec.h"

#include "kernels/variants.h"
#include "kernels/vmath.h"

/* Inputs that are taken together: as many streams through W, and one load and store of y for all of them. */
#define INPUTS 8
/* Sums of all rows that are under way at a time stay in the first-level cache. */
#define SUMS 8192
#define LEAST_COLUMNS 256

/* y[r,o] += sum over INPUTS inputs of x[r,i] w[i,o], for R rows and n columns. R is a constant where it is called. */
VARIANTS_INLINE void add_inputs(real *restrict y, size_t out, const real *x, size_t in, const real *restrict w,
                                size_t stride, size_t n, size_t R)
{
    const real *restrict w0 = w, *restrict w1 = w + stride, *restrict w2 = w1 + stride, *restrict w3 = w2 + stride,
                         *restrict w4 = w3 + stride, *restrict w5 = w4 + stride, *restrict w6 = w5 + stride,
                         *restrict w7 = w6 + stride;
    for (size_t o = 0; o < n; o++)
        for (size_t r = 0; r < R; r++) {
            const real *x_r = x + r * in;
            real sum = y[r * out + o];
            sum += x_r[0] * w0[o];
            sum += x_r[1] * w1[o];
            sum += x_r[2] * w2[o];
            sum += x_r[3] * w3[o];
            sum += x_r[4] * w4[o];
            sum += x_r[5] * w5[o];
            sum += x_r[6] * w6[o];
            sum += x_r[7] * w7[o];
            y[r * out + o] = sum;
        }
}

/* The inputs that are left over, one at a time: the same sums in the same order. */
VARIANTS_INLINE void add_input(real *restrict y, size_t out, const real *x, size_t in, const real *restrict w, size_t n,
                               size_t N)
{
    for (size_t r = 0; r < N; r++)
        for (size_t o = 0; o < n; o++)
            y[r * out + o] += x[r * in] * w[o];
}

VARIANTS(void, matvec_forward,
         (const struct lane *lane, real *restrict y, const real *x, const real *w, const real *bias, size_t N,
          size_t in, size_t out, size_t stride, struct span columns),
         (lane, y, x, w, bias, N, in, out, stride, columns))
{
    (void)lane; /* it chose this variant */
    if (N == 0)
        return;
    const size_t widest = SUMS / N > LEAST_COLUMNS ? SUMS / N / LEAST_COLUMNS * LEAST_COLUMNS : LEAST_COLUMNS;
    for (size_t first = columns.begin; first < columns.end; first += widest) {
        const size_t n = columns.end - first < widest ? columns.end - first : widest;
        for (size_t r = 0; r < N; r++)
            for (size_t o = first; o < first + n; o++)
                y[r * out + o] = bias ? bias[o] : 0;
        size_t i = 0;
        for (; i + INPUTS <= in; i += INPUTS) {
            const real *w_i = w + i * stride + first;
            size_t r = 0;
            for (; r + 4 <= N; r += 4)
                add_inputs(y + r * out + first, out, x + r * in + i, in, w_i, stride, n, 4);
            for (; r + 2 <= N; r += 2)
                add_inputs(y + r * out + first, out, x + r * in + i, in, w_i, stride, n, 2);
            if (r < N)
                add_inputs(y + r * out + first, out, x + r * in + i, in, w_i, stride, n, 1);
        }
        for (; i < in; i++)
            add_input(y + first, out, x + i, in, w + i * stride + first, n, N);
    }
}

VARIANTS(void, matvec_forward_transposed,
         (const struct lane *lane, real *restrict y, const real *x, const real *w, const real *bias, size_t N,
          size_t in, size_t out, size_t stride, struct span columns),
         (lane, y, x, w, bias, N, in, out, stride, columns))
{
    (void)lane;
    for (size_t o = columns.begin; o < columns.end; o++)
        for (size_t r = 0; r < N; r++)
            y[r * out + o] = (bias ? bias[o] : 0) + vmath_dot(x + r * in, w + o * stride, in);
}
