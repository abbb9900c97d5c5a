#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/rng.h"

static const struct rng_site SITE = {.seed = 1337, .purpose = RNG_TEST, .step = 1, .row = 2, .layer = 3, .head = 4};

/* The known answers published with Random123, file kat_vectors, "philox4x32 10". */
Test(rng, philox_gives_the_published_known_answers)
{
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
         0x24126ea1},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        rng_philox(out, known[i], known[i] + 4);
        cr_assert_eq(memcmp(out, known[i] + 6, sizeof out), 0, "vector %d: %08x %08x %08x %08x", i, out[0], out[1],
                     out[2], out[3]);
    }
}

Test(rng, a_position_is_its_number_in_its_block)
{
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t four[4];
        rng_block(four, &SITE, block);
        for (uint32_t k = 0; k < 4; k++)
            cr_assert_eq(rng_bits(&SITE, 4 * block + k), four[k]);
    }
}

Test(rng, a_draw_depends_on_nothing_drawn_before)
{
    const uint32_t bits = rng_bits(&SITE, 1000);
    const double uniform = rng_uniform(&SITE, 1000), normal = rng_normal(&SITE, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        rng_bits(&SITE, i);
    cr_assert_eq(rng_bits(&SITE, 1000), bits);
    cr_assert_eq(rng_uniform(&SITE, 1000), uniform);
    cr_assert_eq(rng_normal(&SITE, 1000), normal);
}

Test(rng, every_part_of_the_site_gives_another_stream)
{
    struct rng_site other[8];
    for (int i = 0; i < 8; i++)
        other[i] = SITE;
    other[1].seed ^= 1;
    other[2].seed ^= (uint64_t)1 << 63;
    other[3].purpose = RNG_DATA;
    other[4].step ^= 1;
    other[5].row ^= 1;
    other[6].layer ^= 1;
    other[7].head ^= 1;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) {
            int same = 0;
            for (uint32_t p = 0; p < 64; p++)
                same += rng_bits(&other[i], p) == rng_bits(&other[j], p);
            cr_assert_eq(same, 0, "sites %d and %d share %d of 64 draws", i, j, same);
        }
}

Test(rng, neighbouring_layers_and_heads_at_their_limits_stay_apart)
{
    const struct rng_site a = {.layer = 1, .head = 0}, b = {.layer = 0, .head = 4095},
                          c = {.layer = 4095, .head = 4095};
    cr_assert_neq(rng_bits(&a, 0), rng_bits(&b, 0));
    cr_assert_neq(rng_bits(&b, 0), rng_bits(&c, 0));
}

Test(rng, a_layer_beyond_its_limit_is_a_bug_caught, .signal = SIGABRT)
{
    const struct rng_site site = {.layer = 4096};
    rng_bits(&site, 0);
}

Test(rng, uniform_fills_zero_to_one_evenly)
{
    const uint32_t n = 40000;
    double sum = 0, squares = 0;
    int bin[20] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const double u = rng_uniform(&SITE, i);
        cr_assert(u >= 0 && u < 1, "%g", u);
        sum += u;
        squares += u * u;
        bin[(int)(u * 20)]++;
    }
    /* Five standard deviations of each statistic. */
    cr_assert_float_eq(sum / n, 0.5, 5 * sqrt(1.0 / 12 / n));
    cr_assert_float_eq(squares / n, 1.0 / 3, 5 * sqrt(4.0 / 45 / n));
    for (int b = 0; b < 20; b++)
        cr_assert_float_eq(bin[b], n / 20.0, 5 * sqrt(n / 20.0 * 0.95), "bin %d holds %d", b, bin[b]);
}

Test(rng, uniform_uses_53_bits)
{
    int odd = 0;
    for (uint32_t i = 0; i < 1000; i++)
        odd += (int)((uint64_t)(rng_uniform(&SITE, i) * 0x1p53) & 1);
    cr_assert(odd > 400 && odd < 600, "the last bit is set in %d of 1000", odd);
}

Test(rng, below_is_the_high_half_of_a_128_bit_product)
{
    const uint64_t sizes[] = {1, 2, 3, 7, 1000, (1ull << 32) - 1, 1ull << 32, (1ull << 40) + 1, ~0ull};
    for (uint32_t p = 0; p < 100; p++) {
        uint32_t four[4];
        rng_block(four, &SITE, p);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const uint64_t n = sizes[i], r = rng_below(&SITE, p, n);
            cr_assert(r < n, "%llu of %llu", (unsigned long long)r, (unsigned long long)n);
#ifdef __SIZEOF_INT128__
            __extension__ typedef unsigned __int128 wide;
            const uint64_t x = (uint64_t)four[0] << 32 | four[1];
            cr_assert_eq(r, (uint64_t)((wide)x * n >> 64));
#endif
        }
    }
}

Test(rng, below_reaches_every_number_evenly)
{
    const uint32_t n = 14000;
    int count[7] = {0};
    for (uint32_t i = 0; i < n; i++)
        count[rng_below(&SITE, i, 7)]++;
    for (int k = 0; k < 7; k++)
        cr_assert_float_eq(count[k], n / 7.0, 5 * sqrt(n / 7.0 * 6 / 7), "%d came %d times", k, count[k]);
}

Test(rng, below_nothing_is_a_bug_caught, .signal = SIGABRT)
{
    rng_below(&SITE, 0, 0);
}

Test(rng, normal_has_the_moments_and_tails_of_a_normal)
{
    const uint32_t n = 40000;
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    int beyond = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double x = rng_normal(&SITE, i);
        cr_assert(isfinite(x));
        m1 += x;
        m2 += x * x;
        m3 += x * x * x;
        m4 += x * x * x * x;
        beyond += fabs(x) > 1.959963985;
    }
    cr_assert_float_eq(m1 / n, 0, 5 * sqrt(1.0 / n));
    cr_assert_float_eq(m2 / n, 1, 5 * sqrt(2.0 / n));
    cr_assert_float_eq(m3 / n, 0, 5 * sqrt(15.0 / n));
    cr_assert_float_eq(m4 / n, 3, 5 * sqrt(96.0 / n));
    cr_assert_float_eq(beyond, 0.05 * n, 5 * sqrt(0.05 * 0.95 * n));
}
