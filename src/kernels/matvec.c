#include "kernels/matvec.h"

#include <stdbool.h>

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

/* Where W is narrow, one row's sums of STRIP columns stay in registers over all inputs and W is read from end to end:
 * 93 GB/s instead of 54 at 512x128 in cache. Wider matrices are read in strips that are too far apart for this. */
#define STRIP ((size_t)8 * VMATH_LANES)
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define LOAD(k)                                                                                                        \
    real sum##k[VMATH_LANES];                                                                                          \
    for (size_t c = 0; c < VMATH_LANES; c++)                                                                           \
        sum##k[c] = y[(size_t)(k)*VMATH_LANES + c];
#define ADD(k)                                                                                                         \
    for (size_t c = 0; c < VMATH_LANES; c++)                                                                           \
        sum##k[c] += x_i * w_i[(size_t)(k)*VMATH_LANES + c];
#define STORE(k)                                                                                                       \
    for (size_t c = 0; c < VMATH_LANES; c++)                                                                           \
        y[(size_t)(k)*VMATH_LANES + c] = sum##k[c];

VARIANTS_INLINE void add_strip(real *restrict y, const real *x, size_t in, const real *restrict w, size_t stride)
{
    EACH(LOAD)
    for (size_t i = 0; i < in; i++) {
        const real x_i = x[i], *w_i = w + i * stride;
        EACH(ADD)
    }
    EACH(STORE)
}

VARIANTS(void, matvec_forward,
         (const struct lane *lane, real *restrict y, const real *x, const real *w, const real *bias, size_t N,
          size_t in, size_t out, size_t stride, struct span columns),
         (lane, y, x, w, bias, N, in, out, stride, columns))
{
    if (N == 0)
        return;
    /* Other sets have too few registers for a strip. */
    const bool strips = N == 1 && stride < 2 * STRIP && lane->isa >= ISA_AVX512;
    if (strips)
        for (; columns.begin + STRIP <= columns.end; columns.begin += STRIP) {
            real *y_s = y + columns.begin;
            for (size_t o = 0; o < STRIP; o++)
                y_s[o] = bias ? bias[columns.begin + o] : 0;
            add_strip(y_s, x, in, w + columns.begin, stride);
        }
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
