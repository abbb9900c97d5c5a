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
