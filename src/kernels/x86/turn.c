#include "kernels/x86/turn.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Pairs of rows, then of pairs, then of quads of words change places: first inside each quarter of a register, then the
 * quarters themselves. */
__attribute__((target("avx512f"))) bool turn_avx512(uint32_t *out, size_t ld_out, const uint32_t *block, size_t ld)
{
    __m512i r[16], t[16];
    for (int i = 0; i < 16; i++)
        r[i] = _mm512_loadu_si512(block + (size_t)i * ld);
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            r[i + 2 * k] = _mm512_unpacklo_epi64(t[i + k], t[i + 2 + k]);
            r[i + 2 * k + 1] = _mm512_unpackhi_epi64(t[i + k], t[i + 2 + k]);
        }
    /* r[4 g + j] holds column 4 q + j of rows 4 g .. 4 g + 3 in its quarter q */
    for (int j = 0; j < 4; j++) {
        t[j] = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
        t[4 + j] = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
        t[8 + j] = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
        t[12 + j] = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
    }
    for (int j = 0; j < 4; j++) {
        _mm512_storeu_si512(out + (size_t)j * ld_out, _mm512_shuffle_i32x4(t[j], t[8 + j], 0x88));
        _mm512_storeu_si512(out + (size_t)(8 + j) * ld_out, _mm512_shuffle_i32x4(t[j], t[8 + j], 0xdd));
        _mm512_storeu_si512(out + (size_t)(4 + j) * ld_out, _mm512_shuffle_i32x4(t[4 + j], t[12 + j], 0x88));
        _mm512_storeu_si512(out + (size_t)(12 + j) * ld_out, _mm512_shuffle_i32x4(t[4 + j], t[12 + j], 0xdd));
    }
    return true;
}
#else
bool turn_avx512(uint32_t *out, size_t ld_out, const uint32_t *block, size_t ld)
{
    (void)out;
    (void)ld_out;
    (void)block;
    (void)ld;
    return false;
}
#endif
