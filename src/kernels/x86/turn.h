/* Transposes 16 x 16 words in registers. */
#ifndef KERNELS_X86_TURN_H
#define KERNELS_X86_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out[c * ld_out + r] = block[r * ld + c]. False, with nothing done, in a build without AVX-512; the processor must
 * have it. */
bool turn_avx512(uint32_t *out, size_t ld_out, const uint32_t *block, size_t ld);

#endif
