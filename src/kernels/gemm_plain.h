/* Matrix products in plain C: what gemm runs on in a build without a BLAS (make BLAS=none), and in every build a second
 * opinion on the library's. */
#ifndef KERNELS_GEMM_PLAIN_H
#define KERNELS_GEMM_PLAIN_H

#include <stddef.h>

#include "base/real.h"
#include "kernels/gemm.h"

/* All that kernels/gemm.h promises of gemm, for sizes without a limit. Each sum runs upwards in k, in blocks of 128, so
 * that a row has the same bits alone and among others. */
void gemm_plain(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha,
                const real *A, size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc);

#endif
