/* Small vectorisable pieces that several kernels share. Sums run in a fixed number of interleaved
 * accumulators: the compiler may use vector registers without being allowed to reorder anything. */
#ifndef KERNELS_VMATH_H
#define KERNELS_VMATH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/real.h"
#include "kernels/variants.h"

#define VMATH_LANES 16

/* e^x. In float: x = n ln 2 + r with |r| <= ln(2)/2, e^r by a polynomial, scaled by 2^n in two halves so
 * that subnormal results and overflow to infinity come out right. Relative error at most 0.75 float epsilons
 * where the result is normal: 0.735, at 26.6889, over every such float (tests/kernels/test_vmath.c samples them);
 * exp(-INFINITY) = 0 exactly, exp(0) = 1 exactly, NaN stays NaN.
 * In double: libm's. */
VARIANTS_INLINE real vmath_exp(real x)
{
#ifdef NOPEEK_DOUBLE
    return exp(x);
#else
    const float high = 89.0f, low = -104.0f; /* past these the result is infinity or zero anyway */
    x = x > high ? high : x;
    x = x < low ? low : x;           /* NaN fails both comparisons and stays */
    const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    const float shifted = x * 1.44269504088896341f + shift;
    uint32_t bits, shift_bits;
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&shift_bits, &shift, sizeof shift_bits);
    const uint32_t n = bits - shift_bits; /* two's complement */
    const float whole = shifted - shift;
    /* ln 2 in two pieces: the first has few bits, so that whole * piece is exact. */
    const float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r * r + r + 1.0f;
    const uint32_t half = (uint32_t)((int32_t)n >> 1);
    const uint32_t first = (half + 127u) << 23, second = (n - half + 127u) << 23;
    float scale_first, scale_second;
    memcpy(&scale_first, &first, sizeof first);
    memcpy(&scale_second, &second, sizeof second);
    return p * scale_first * scale_second;
#endif
}

/* ln x of a positive normal number; NaN stays NaN. In float: x = 2^n m with m between sqrt(1/2) and sqrt(2), ln m by
 * the polynomial of Cephes' logf (Moshier 1992). Error at most 1 float epsilon times the larger of 1/2 and |ln x|
 * (tests/kernels/test_vmath.c samples it); ln 1 = 0 exactly. In double: libm's. */
VARIANTS_INLINE real vmath_log(real x)
{
#ifdef NOPEEK_DOUBLE
    return log(x);
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int32_t n = (int32_t)(bits - 0x3f3504f3u) >> 23; /* 0x3f3504f3 is sqrt(1/2) */
    bits -= (uint32_t)n << 23;
    float m;
    memcpy(&m, &bits, sizeof m);
    const float f = m - 1, whole = (float)n, ff = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    /* ln 2 in two pieces, as in vmath_exp */
    const float y = f * ff * p + whole * -2.12194440e-4f - 0.5f * ff + f + whole * 0.693359375f;
    return x != x ? x : y;
#endif
}

/* Adds the accumulators up in a fixed order. */
VARIANTS_INLINE real vmath_reduce(const real acc[VMATH_LANES])
{
    real half[VMATH_LANES / 2];
    for (size_t k = 0; k < VMATH_LANES / 2; k++)
        half[k] = acc[k] + acc[k + VMATH_LANES / 2];
    for (size_t width = VMATH_LANES / 4; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++)
            half[k] += half[k + width];
    return half[0];
}

/* sum_i x_i */
VARIANTS_INLINE real vmath_sum(const real *x, size_t n)
{
    real acc[VMATH_LANES] = {0};
    size_t i = 0;
    for (; i + VMATH_LANES <= n; i += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++)
            acc[k] += x[i + k];
    for (size_t k = 0; i < n; i++, k++)
        acc[k] += x[i];
    return vmath_reduce(acc);
}

/* sum_i x_i y_i */
VARIANTS_INLINE real vmath_dot(const real *x, const real *y, size_t n)
{
    real acc[VMATH_LANES] = {0};
    size_t i = 0;
    for (; i + VMATH_LANES <= n; i += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++)
            acc[k] += x[i + k] * y[i + k];
    for (size_t k = 0; i < n; i++, k++)
        acc[k] += x[i] * y[i];
    return vmath_reduce(acc);
}

#endif
