/* Matrix products. Every one in nopeek goes through here, to OpenBLAS; or to gemm_plain, where nopeek was built without
 * it or the OpenBLAS at hand must not be called by several threads. Nothing else includes cblas.h. */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/real.h"

enum gemm_transpose { GEMM_PLAIN, GEMM_TRANSPOSED };

/* C = alpha * op(A) op(B) + beta * C, row-major, op = plain or transposed.
 *   op(A) (M,K)   op(B) (K,N)   C (M,N)   ld*: reals from one stored row to the next
 * beta = 0 assigns C without reading it. Sizes of 0 are allowed: K = 0 only scales C. Sizes fit in
 * BLAS's integer (asserted). Runs on the calling thread alone; several threads may call at once.
 * NaN and infinity in A and B reach every C they multiply, zeros included: callers that mask must
 * leave masked entries out. */
void gemm(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha, const real *A,
          size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc);

/* Makes the library run on the calling thread alone. Call once, before any team runs. */
void gemm_setup(void);

/* Whether so many threads can compute products at once in the address space that this process may have (ulimit -v,
 * overcommit). OpenBLAS takes 128 MB of it for each thread at its first product, and when it is refused asks again for
 * ever. To be asked before the first product. */
bool gemm_has_room(int threads);

/* What the products run on, for the start line: version, kernel and threading of the library. */
const char *gemm_library(void);

/* "pthreads", "OpenMP" or "serial": how the library was built to make threads (it is kept from it). */
const char *gemm_threading(void);

#endif
