#include "kernels/x86/philox.h"

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* A word of each block sits in the low half of a 64-bit lane, where a multiplication finds it and leaves its product;
 * what is in the high half is never read: multiplications take low halves, and the rest are bitwise. Several groups of
 * blocks go side by side, for a product takes longer than all else. */
#define ROUNDS 10

__attribute__((target("avx512f"))) static void wide_avx512(uint32_t *out, const struct rng_start *start)
{
    enum { GROUPS = PHILOX_DRAWS / 32 };
    const __m512i m0 = _mm512_set1_epi64(RNG_M0), m1 = _mm512_set1_epi64(RNG_M1);
    __m512i c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        c0[g] = _mm512_add_epi64(_mm512_set1_epi64((long long)start->counter[0] + 8LL * g),
                                 _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
        c1[g] = _mm512_set1_epi64(start->counter[1]);
        c2[g] = _mm512_set1_epi64(start->counter[2]);
        c3[g] = _mm512_set1_epi64(start->counter[3]);
    }
    uint32_t k0 = start->key[0], k1 = start->key[1];
    for (int round = 0; round < ROUNDS; round++, k0 += RNG_W0, k1 += RNG_W1) {
        const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
#pragma GCC unroll 4
        for (int g = 0; g < GROUPS; g++) {
            const __m512i p0 = _mm512_mul_epu32(m0, c0[g]), p1 = _mm512_mul_epu32(m1, c2[g]);
            c0[g] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[g], key0, 0x96); /* exclusive or of three */
            c2[g] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[g], key1, 0x96);
            c1[g] = p1;
            c3[g] = p0;
        }
    }
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    const __m512i early = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0),
                  late = _mm512_add_epi64(early, _mm512_set1_epi64(4));
    for (int g = 0; g < GROUPS; g++) {
        const __m512i first = _mm512_or_epi64(_mm512_and_epi64(c0[g], low), _mm512_slli_epi64(c1[g], 32));
        const __m512i second = _mm512_or_epi64(_mm512_and_epi64(c2[g], low), _mm512_slli_epi64(c3[g], 32));
        _mm512_storeu_si512(out + (size_t)32 * (size_t)g, _mm512_permutex2var_epi64(first, early, second));
        _mm512_storeu_si512(out + (size_t)32 * (size_t)g + 16, _mm512_permutex2var_epi64(first, late, second));
    }
}

__attribute__((target("avx2"))) static void wide_avx2(uint32_t *out, const struct rng_start *start)
{
    enum { GROUPS = 2, EACH = 4 * 4 * GROUPS };
    const __m256i m0 = _mm256_set1_epi64x(RNG_M0), m1 = _mm256_set1_epi64x(RNG_M1);
    for (int done = 0; done < PHILOX_DRAWS; done += EACH) {
        __m256i c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
        for (int g = 0; g < GROUPS; g++) {
            c0[g] = _mm256_add_epi64(_mm256_set1_epi64x((long long)start->counter[0] + done / 4 + 4LL * g),
                                     _mm256_set_epi64x(3, 2, 1, 0));
            c1[g] = _mm256_set1_epi64x(start->counter[1]);
            c2[g] = _mm256_set1_epi64x(start->counter[2]);
            c3[g] = _mm256_set1_epi64x(start->counter[3]);
        }
        uint32_t k0 = start->key[0], k1 = start->key[1];
        for (int round = 0; round < ROUNDS; round++, k0 += RNG_W0, k1 += RNG_W1) {
            const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
            for (int g = 0; g < GROUPS; g++) {
                const __m256i p0 = _mm256_mul_epu32(m0, c0[g]), p1 = _mm256_mul_epu32(m1, c2[g]);
                c0[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[g]), key0);
                c2[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[g]), key1);
                c1[g] = p1;
                c3[g] = p0;
            }
        }
        const __m256i low = _mm256_set1_epi64x(0xffffffff);
        for (int g = 0; g < GROUPS; g++) {
            const __m256i first = _mm256_or_si256(_mm256_and_si256(c0[g], low), _mm256_slli_epi64(c1[g], 32));
            const __m256i second = _mm256_or_si256(_mm256_and_si256(c2[g], low), _mm256_slli_epi64(c3[g], 32));
            const __m256i even = _mm256_unpacklo_epi64(first, second), odd = _mm256_unpackhi_epi64(first, second);
            __m256i *to = (__m256i *)(out + done + (size_t)16 * (size_t)g);
            _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
            _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
        }
    }
}

bool philox_wide(enum isa isa, uint32_t out[PHILOX_DRAWS], const struct rng_start *start)
{
    if (isa >= ISA_AVX512)
        wide_avx512(out, start);
    else if (isa >= ISA_AVX2)
        wide_avx2(out, start);
    return isa >= ISA_AVX2;
}
#else
bool philox_wide(enum isa isa, uint32_t out[PHILOX_DRAWS], const struct rng_start *start)
{
    (void)isa;
    (void)out;
    (void)start;
    return false;
}
#endif
