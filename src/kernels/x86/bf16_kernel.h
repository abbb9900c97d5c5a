/* The innermost product of gemm_bf16 (its header says how A and B are packed), for one instruction set:
 *   c[m,n] = or += sum over k of a[m * stride + k] . b[k * 32 + n],   m < rows, n < cols, k < pairs
 *   c (rows,cols) by ldc, cols <= 32   a: rows `stride` words apart   b: one panel
 * pairs is a multiple of 16. */
#ifndef KERNELS_X86_BF16_KERNEL_H
#define KERNELS_X86_BF16_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "base/real.h"

typedef void bf16_kernel(real *c, size_t ldc, size_t rows, size_t cols, bool add, const uint32_t *a, size_t stride,
                         const uint32_t *b, size_t pairs);

/* A kernel, and how many rows and pairs it likes best. run is NULL where there is none for that set. */
struct bf16_choice {
    bf16_kernel *run;
    size_t rows, pairs;
    const char *name;
};

/* The one for exactly this instruction set. */
struct bf16_choice bf16_kernel_avx512(void);
struct bf16_choice bf16_kernel_amx(void);

/* Tiles are set up by every thread before its first product and given back after its last. */
void bf16_amx_begin(void);
void bf16_amx_end(void);

#endif
