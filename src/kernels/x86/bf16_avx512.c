/* Dot products of bf16 pairs on AVX512-BF16. */
#include "kernels/x86/bf16_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(NOPEEK_DOUBLE)
#include <immintrin.h>

#define ROWS 12 /* 24 sums, two columns of B and one number of A fill 27 of 32 registers */
#define COLS 32
/* Sums leave the registers seldom; A and B come from the second cache as fast as they are used. */
#define PAIRS 1024
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

TARGET static inline __attribute__((always_inline)) void block(float *c, size_t ldc, size_t cols, bool add,
                                                               const uint32_t *a, size_t stride, const uint32_t *b,
                                                               size_t pairs, const size_t rows)
{
    __m512 sum[ROWS][2];
#pragma GCC unroll 12
    for (size_t m = 0; m < rows; m++)
        sum[m][0] = sum[m][1] = _mm512_setzero_ps();
    for (size_t k = 0; k < pairs; k++) {
        const __m512bh b0 = (__m512bh)_mm512_loadu_si512(b + k * COLS);
        const __m512bh b1 = (__m512bh)_mm512_loadu_si512(b + k * COLS + 16);
#pragma GCC unroll 12
        for (size_t m = 0; m < rows; m++) {
            const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[m * stride + k]);
            sum[m][0] = _mm512_dpbf16_ps(sum[m][0], x, b0);
            sum[m][1] = _mm512_dpbf16_ps(sum[m][1], x, b1);
        }
    }
    const __mmask16 left = cols >= 16 ? 0xffff : (__mmask16)((1u << cols) - 1);
    const __mmask16 right = cols >= COLS ? 0xffff : cols > 16 ? (__mmask16)((1u << (cols - 16)) - 1) : 0;
#pragma GCC unroll 12
    for (size_t m = 0; m < rows; m++) {
        float *c_m = c + m * ldc;
        if (add) {
            sum[m][0] = _mm512_add_ps(sum[m][0], _mm512_maskz_loadu_ps(left, c_m));
            sum[m][1] = _mm512_add_ps(sum[m][1], _mm512_maskz_loadu_ps(right, c_m + 16));
        }
        _mm512_mask_storeu_ps(c_m, left, sum[m][0]);
        _mm512_mask_storeu_ps(c_m + 16, right, sum[m][1]);
    }
}

TARGET static void run(float *c, size_t ldc, size_t rows, size_t cols, bool add, const uint32_t *a, size_t stride,
                       const uint32_t *b, size_t pairs)
{
    switch (rows) {
#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        block(c, ldc, cols, add, a, stride, b, pairs, n);                                                              \
        return;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
    default:
        block(c, ldc, cols, add, a, stride, b, pairs, ROWS);
    }
}

struct bf16_choice bf16_kernel_avx512(void)
{
    return (struct bf16_choice){run, ROWS, PAIRS, "AVX512-BF16"};
}
#else
struct bf16_choice bf16_kernel_avx512(void)
{
    return (struct bf16_choice){0};
}
#endif
