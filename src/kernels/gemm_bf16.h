/* Matrix products of bf16 numbers, summed in fp32:  C = A B  or  C += A B.
 *
 * Both factors are packed first, from reals that are rounded to bf16 on the way; the products of two bf16 numbers are
 * exact, so that what a product loses is the rounding of its factors and that of fp32 sums. K is the summed axis; a
 * pair is two of its neighbours.
 *   A (M,K)  rows of pairs:                    a[m * stride + k]
 *   B (K,N)  panels of GEMM_BF16_COLS columns: b[(n / COLS * pairs + k) * COLS + n % COLS]
 * where pairs = gemm_bf16_pairs(K) and stride = gemm_bf16_stride(K); what lies past K or N is zero.
 *
 * The kernel is the best for lane->isa: AMX tiles, AVX512-BF16's dot products, else plain C in fp32 on the same rounded
 * numbers. They differ in the order of sums, and the processors' own take subnormal factors for zero. In the double
 * build sums are in double. A row of C depends on its own row of A and on B alone, to the bit, whatever M is. */
#ifndef KERNELS_GEMM_BF16_H
#define KERNELS_GEMM_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/team.h"
#include "kernels/gemm.h"

#define GEMM_BF16_COLS 32

/* Pairs of an axis of K numbers, padded to whole tiles. */
size_t gemm_bf16_pairs(size_t K);

/* Words from one row of A to the next: never a multiple of a page, which would put a column of A in one set of the
 * first cache. */
size_t gemm_bf16_stride(size_t K);

/* Words (uint32_t) of a packed A of M rows, and of a packed B of N columns. */
size_t gemm_bf16_a_size(size_t M, size_t K);
size_t gemm_bf16_b_size(size_t N, size_t K);

/* a = op(source), op(source) (M,K): source (M,K) by ld, or (K,M) when transposed. */
void gemm_bf16_pack_a(const struct lane *lane, uint32_t *restrict a, enum gemm_transpose op, const real *source,
                      size_t ld, size_t M, size_t K);

/* The panels [begin, end) of b = op(source), op(source) (K,N): source (K,N) by ld, or (N,K) when transposed.
 * There are gemm_bf16_panels(N). */
size_t gemm_bf16_panels(size_t N);
void gemm_bf16_pack_b(const struct lane *lane, uint32_t *restrict b, enum gemm_transpose op, const real *source,
                      size_t ld, size_t N, size_t K, size_t begin, size_t end);

/* C (M,N) by ldc: assigned, or added to. Runs on the calling thread alone. M, N of 0 are allowed. */
void gemm_bf16(const struct lane *lane, real *restrict c, size_t ldc, size_t M, size_t N, size_t K, const uint32_t *a,
               const uint32_t *b, bool add);

/* "AMX tiles", "AVX512-BF16", "fp32 on rounded numbers": what gemm_bf16 runs on with this set. */
const char *gemm_bf16_kernel(enum isa isa);

#endif
