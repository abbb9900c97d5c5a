/* One function, compiled for several instruction sets from one body, and chosen by lane->isa. The source fixes the
 * order of every sum (vmath.h's lanes) and no contraction is allowed, so the bits are the same in all.
 *
 *     VARIANTS(void, gelu_forward, (const struct lane *lane, real *y, const real *x, size_t N, size_t C),
 *              (lane, y, x, N, C))
 *     {
 *         the body
 *     }
 *
 * What the body calls is compiled with it only where it is VARIANTS_INLINE itself. */
#ifndef KERNELS_VARIANTS_H
#define KERNELS_VARIANTS_H

#include "base/isa.h"

#if defined(__GNUC__)
#define VARIANTS_INLINE static inline __attribute__((always_inline))
#else
#define VARIANTS_INLINE static inline
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#ifdef __clang__
#define VARIANTS_WIDE "avx512f,avx512bw,avx512dq,avx512vl"
#else
#define VARIANTS_WIDE "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#endif
#define VARIANTS(result, name, parameters, arguments)                                                                  \
    VARIANTS_INLINE void name##_body parameters;                                                                       \
    __attribute__((target(VARIANTS_WIDE))) static void name##_avx512 parameters                                        \
    {                                                                                                                  \
        name##_body arguments;                                                                                         \
    }                                                                                                                  \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                                                 \
    {                                                                                                                  \
        name##_body arguments;                                                                                         \
    }                                                                                                                  \
    result name parameters                                                                                             \
    {                                                                                                                  \
        if (lane->isa >= ISA_AVX512)                                                                                   \
            name##_avx512 arguments;                                                                                   \
        else if (lane->isa >= ISA_AVX2)                                                                                \
            name##_avx2 arguments;                                                                                     \
        else                                                                                                           \
            name##_body arguments;                                                                                     \
    }                                                                                                                  \
    VARIANTS_INLINE void name##_body parameters
#else
#define VARIANTS(result, name, parameters, arguments) result name parameters
#endif

#endif
