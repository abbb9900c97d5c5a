#include "support/bf16_case.h"

/* Where the processor has tiles. */
Test(bf16_amx, sums_pairs_of_every_shape_within_a_panel)
{
    bf16_case_shapes(bf16_kernel_amx(), ISA_AMX);
}

Test(bf16_amx, harness_catches_a_wrong_row_a_wrong_column_and_a_missing_pair)
{
    bf16_case_faults(bf16_kernel_amx(), ISA_AMX);
}

/* On every x86 processor: the same source on tiles in plain C. */
#if defined(__x86_64__) && !defined(NOPEEK_DOUBLE)
#include "support/tiles.h"

#define bf16_amx_begin emulated_begin
#define bf16_amx_end emulated_end
#define bf16_kernel_amx emulated_kernel
void emulated_begin(void);
void emulated_end(void);
struct bf16_choice emulated_kernel(void);
#include "kernels/x86/bf16_amx.c"

static void emulated_run(real *c, size_t ldc, size_t rows, size_t cols, bool add, const uint32_t *a, size_t stride,
                         const uint32_t *b, size_t pairs)
{
    emulated_begin();
    run(c, ldc, rows, cols, add, a, stride, b, pairs);
    emulated_end();
}

Test(bf16_amx, gives_the_right_sums_on_tiles_in_plain_c)
{
    const struct bf16_choice emulated = {emulated_run, emulated_kernel().rows, emulated_kernel().pairs, "emulated"};
    bf16_case_shapes(emulated, ISA_PORTABLE);
    bf16_case_faults(emulated, ISA_PORTABLE);
    cr_assert_eq(tiles_errors, 0);
}

Test(bf16_amx, tiles_in_plain_c_notice_what_was_never_set_up)
{
    real c[32 * 32];
    static uint32_t a[32 * 16], b[16 * 32];
    run(c, 32, 32, 32, false, a, 16, b, 16);
    cr_assert(tiles_errors > 0);
}
#endif
