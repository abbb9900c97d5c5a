#include "support/bf16_case.h"

Test(bf16_avx512, sums_pairs_of_every_shape_within_a_panel)
{
    bf16_case_shapes(bf16_kernel_avx512(), ISA_AVX512_BF16);
}

Test(bf16_avx512, harness_catches_a_wrong_row_a_wrong_column_and_a_missing_pair)
{
    bf16_case_faults(bf16_kernel_avx512(), ISA_AVX512_BF16);
}
