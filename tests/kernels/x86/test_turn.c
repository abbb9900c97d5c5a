#include <criterion/criterion.h>
#include <string.h>

#include "kernels/x86/turn.h"
#include "support/machine.h"

Test(turn, rows_become_columns_and_nothing_else_is_written)
{
    if (support_isa() < ISA_AVX512)
        cr_skip("no AVX-512 here");
    uint32_t block[256], out[16 * 21];
    for (uint32_t i = 0; i < 256; i++)
        block[i] = 0x01000193u * (i + 1);
    for (size_t ld = 16; ld <= 21; ld += 5) {
        memset(out, 0xee, sizeof out);
        cr_assert(turn_avx512(out, ld, block, 16));
        for (size_t c = 0; c < 16; c++) {
            for (size_t r = 0; r < 16; r++)
                cr_assert_eq(out[c * ld + r], block[r * 16 + c], "ld %zu, row %zu, column %zu", ld, r, c);
            for (size_t past = 16; past < ld; past++)
                cr_assert_eq(out[c * ld + past], 0xeeeeeeeeu);
        }
    }
}
