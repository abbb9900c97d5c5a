/* Numbers rounded to bf16 by AVX512-BF16's own conversions and laid out in pairs, as gemm_bf16.c's portable loops of
 * the same names do it: the same bits, but that subnormal numbers become zeros, for which products take them anyway.
 *
 * Each returns false, with nothing done, in a build without AVX512-BF16; the processor must have it. */
#ifndef KERNELS_X86_BF16_PACK_H
#define KERNELS_X86_BF16_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"

/* out[r, k] = (x[r, 2k], x[r, 2k+1]) for rows x of `width` numbers; `pairs` of them, a multiple of 16, zero past the
 * width. */
bool bf16_pack_along(uint32_t *out, size_t ld_out, const real *x, size_t ld, size_t rows, size_t width, size_t pairs);

/* out[k, c] = (x[2k, c], x[2k+1, c]) for `height` rows x; `pairs` rows of them, `cols` wide, a multiple of 16, zero
 * past height and width. */
bool bf16_pack_across(uint32_t *out, size_t ld_out, const real *x, size_t ld, size_t height, size_t width, size_t pairs,
                      size_t cols);

#endif
