#include <criterion/criterion.h>
#include <math.h>

#include "kernels/bf16.h"

static float from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Every bf16 number, and the nearest of the two around any float between: by the distance, in double. */
Test(bf16, every_number_of_its_own_is_kept)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float x = from_bits(bits << 16);
        const uint32_t back = bf16_bits((real)x);
        if (isnan(x))
            cr_assert(isnan(bf16_number(back)) && (back & 0x8000) == (bits & 0x8000), "NaN %x became %x", bits, back);
        else
            cr_assert_eq(back, bits, "%x became %x", bits, back);
    }
}

Test(bf16, rounds_to_the_nearest_and_ties_to_even)
{
    static const uint32_t tails[] = {0x0001, 0x7fff, 0x8000, 0x8001, 0xffff, 0x4321, 0xabcd};
    for (uint32_t bits = 0; bits < 0x7f80; bits += 7)
        for (size_t k = 0; k < sizeof tails / sizeof *tails; k++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                const uint32_t below = bits | sign << 15;
                const float x = from_bits(below << 16 | tails[k]);
                const uint32_t got = bf16_bits((real)x);
                const uint32_t want = tails[k] > 0x8000 || (tails[k] == 0x8000 && (bits & 1)) ? below + 1 : below;
                cr_assert_eq(got, want, "%x %x became %x", below, tails[k], got);
            }
}

Test(bf16, the_error_is_at_most_half_of_its_epsilon)
{
    double worst = 0;
    for (int i = 0; i < 100000; i++) {
        const double x = exp(-20 + 40.0 * i / 100000);
        worst = fmax(worst, fabs((double)bf16_round((real)x) - (double)(real)x) / x);
    }
    cr_assert(worst <= BF16_EPSILON / 2 && worst > BF16_EPSILON / 4, "%g", worst);
}

Test(bf16, what_is_too_large_becomes_infinite)
{
    cr_assert_eq(bf16_round((real)3.4e38f), (real)INFINITY);
    cr_assert_eq(bf16_round(-(real)3.4e38f), -(real)INFINITY);
    cr_assert_eq(bf16_round((real)3.38e38f), bf16_number(0x7f7e));
    cr_assert(isinf(bf16_round((real)INFINITY)));
    cr_assert(signbit(bf16_round(-(real)0.0)));
}

Test(bf16, a_pair_holds_the_first_below_the_second)
{
    cr_assert_eq(bf16_pair(1, -2), 0xc0003f80u);
    cr_assert_eq(bf16_number(0xc0003f80u), 1);
    cr_assert_eq(bf16_number(0xc0003f80u >> 16), -2);
}
