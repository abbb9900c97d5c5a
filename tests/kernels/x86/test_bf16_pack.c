#include "kernels/x86/bf16_pack.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/bf16.h"
#include "support/machine.h"
#include "support/oracle.h"

#define LD ((size_t)53)
#define ROWS ((size_t)9)
#define LD_OUT ((size_t)51)
#define UNTOUCHED 0x77777777u

static const size_t WIDTHS[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 48};

/* Numbers of every size, on both sides of where rounding turns, and what is not finite. */
static real *numbers(struct pool *pool)
{
    real *x = pool_normal(pool, ROWS * LD, 1, 1);
    for (size_t i = 0; i < ROWS * LD; i++)
        x[i] = (real)ldexp((double)x[i], (int)(i % 200) - 100);
    const uint32_t odd[] = {0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0x7f7f8000, 0x7f7f7fff,
                            0x7f800000, 0xff800000, 0x7f800001, 0xffc12345, 0x80000000, 0x00800000};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        float f;
        memcpy(&f, &odd[i], sizeof f);
        x[i * 3] = x[2 * LD + i] = (real)f;
    }
    return x;
}

static uint32_t bits_at(const real *x, size_t r, size_t c, size_t height, size_t width)
{
    return r < height && c < width ? bf16_bits(x[r * LD + c]) : 0;
}

static size_t wrong(bool across, size_t height, size_t width, bool planted)
{
    static uint32_t out[ROWS * LD_OUT + LD_OUT];
    struct pool pool = {0};
    const real *x = numbers(&pool);
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        out[i] = UNTOUCHED;
    const size_t rows = across ? 5 : height, words = across ? 48 : 32;
    cr_assert(across ? bf16_pack_across(out, LD_OUT, x, LD, height, width, rows, words)
                     : bf16_pack_along(out, LD_OUT, x, LD, rows, width, words));
    if (planted)
        out[LD_OUT] ^= 0x10000;
    size_t off = 0;
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        const size_t r = i / LD_OUT, k = i % LD_OUT;
        uint32_t want = UNTOUCHED;
        if (r < rows && k < words && across)
            want = bits_at(x, 2 * r, k, height, width) | bits_at(x, 2 * r + 1, k, height, width) << 16;
        else if (r < rows && k < words)
            want = bits_at(x, r, 2 * k, height, width) | bits_at(x, r, 2 * k + 1, height, width) << 16;
        off += out[i] != want;
    }
    pool_free(&pool);
    return off;
}

Test(bf16_pack, gives_the_bits_of_portable_rounding_and_writes_nothing_else)
{
#ifdef NOPEEK_DOUBLE
    cr_skip("not in double");
#endif
    if (support_isa() < ISA_AVX512_BF16)
        cr_skip("no AVX512-BF16 here");
    for (size_t height = 0; height <= ROWS; height++)
        for (size_t w = 0; w < sizeof WIDTHS / sizeof *WIDTHS; w++)
            for (int across = 0; across < 2; across++)
                cr_assert_eq(wrong(across, height, WIDTHS[w], false), 0, "across %d, %zu rows of %zu", across, height,
                             WIDTHS[w]);
    cr_assert_eq(wrong(true, ROWS, 33, true), 1);
}
