#include "kernels/x86/bf16_pack.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(NOPEEK_DOUBLE)
#include <immintrin.h>

#define WIDE 16 /* floats, or words, of a register */
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

/* Of WIDE numbers from `first` on those before `end`. */
static __mmask16 before(size_t first, size_t end)
{
    return first + WIDE <= end ? 0xffff : first < end ? (__mmask16)((1u << (end - first)) - 1) : 0;
}

TARGET bool bf16_pack_along(uint32_t *out, size_t ld_out, const float *x, size_t ld, size_t rows, size_t width,
                            size_t pairs)
{
    for (size_t r = 0; r < rows; r++, x += ld, out += ld_out)
        for (size_t k = 0; k < pairs; k += WIDE) {
            const __m512 low = _mm512_maskz_loadu_ps(before(2 * k, width), x + 2 * k),
                         high = _mm512_maskz_loadu_ps(before(2 * k + WIDE, width), x + 2 * k + WIDE);
            _mm512_storeu_si512(out + k, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        }
    return true;
}

TARGET bool bf16_pack_across(uint32_t *out, size_t ld_out, const float *x, size_t ld, size_t height, size_t width,
                             size_t pairs, size_t cols)
{
    for (size_t k = 0; k < pairs; k++, out += ld_out) {
        const size_t first = 2 * k < height ? width : 0, second = 2 * k + 1 < height ? width : 0;
        for (size_t c = 0; c < cols; c += WIDE) {
            const __m512 one = _mm512_maskz_loadu_ps(before(c, first), x + 2 * k * ld + c),
                         other = _mm512_maskz_loadu_ps(before(c, second), x + (2 * k + 1) * ld + c);
            const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(one)),
                          high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(other));
            _mm512_storeu_si512(out + c, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
    }
    return true;
}
#else
bool bf16_pack_along(uint32_t *out, size_t ld_out, const real *x, size_t ld, size_t rows, size_t width, size_t pairs)
{
    (void)out;
    (void)ld_out;
    (void)x;
    (void)ld;
    (void)rows;
    (void)width;
    (void)pairs;
    return false;
}

bool bf16_pack_across(uint32_t *out, size_t ld_out, const real *x, size_t ld, size_t height, size_t width, size_t pairs,
                      size_t cols)
{
    (void)out;
    (void)ld_out;
    (void)x;
    (void)ld;
    (void)height;
    (void)width;
    (void)pairs;
    (void)cols;
    return false;
}
#endif
