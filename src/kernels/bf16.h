/* bfloat16: the upper half of a float, eight digits of two. */
#ifndef KERNELS_BF16_H
#define KERNELS_BF16_H

#include <stdint.h>
#include <string.h>

#include "base/real.h"
#include "kernels/variants.h"

#define BF16_EPSILON 0.0078125 /* 2^-7, from 1 to the next; rounding errs by half of that at most */

/* The nearest, ties to even; overflow gives infinity and NaN stays NaN. In the low half. */
VARIANTS_INLINE uint32_t bf16_bits(real x)
{
    const float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, nan = bits >> 16 | 0x40u;
    return (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
}

/* The number in the low half; what is above is not read. */
VARIANTS_INLINE real bf16_number(uint32_t bits)
{
    const uint32_t wide = bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return f;
}

/* x as a bf16 holds it. */
VARIANTS_INLINE real bf16_round(real x)
{
    return bf16_number(bf16_bits(x));
}

/* Two neighbours along the summed axis, as the processors' products take them: the first in the low half. */
VARIANTS_INLINE uint32_t bf16_pair(real first, real second)
{
    return bf16_bits(first) | bf16_bits(second) << 16;
}

#endif
