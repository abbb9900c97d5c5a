#include "kernels/gemm.h"

#ifdef NOPEEK_PLAIN_GEMM /* make BLAS=none */

#include "kernels/gemm_plain.h"

void gemm(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha, const real *A,
          size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
    gemm_plain(op_a, op_b, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
}

void gemm_setup(void)
{
}

const char *gemm_library(void)
{
    return "plain C loops, slow, made with BLAS=none";
}

const char *gemm_threading(void)
{
    return "serial";
}

#else

#include <assert.h>
#include <cblas.h>
#include <limits.h>

/* Accelerate and reference CBLAS have no say over threads and no name to ask for. */
#ifdef OPENBLAS_VERSION
#define HAVE_OPENBLAS 1
#else
#define HAVE_OPENBLAS 0
#endif

#ifdef NOPEEK_DOUBLE
#define CBLAS_GEMM cblas_dgemm
#else
#define CBLAS_GEMM cblas_sgemm
#endif

/* BLAS refuses a leading dimension of 0, which an empty matrix may have. */
static int leading(size_t ld)
{
    assert(ld <= INT_MAX);
    return ld > 0 ? (int)ld : 1;
}

void gemm(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha, const real *A,
          size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
    assert(M <= INT_MAX && N <= INT_MAX && K <= INT_MAX);
    if (M == 0 || N == 0)
        return;
    CBLAS_GEMM(CblasRowMajor, op_a == GEMM_TRANSPOSED ? CblasTrans : CblasNoTrans,
               op_b == GEMM_TRANSPOSED ? CblasTrans : CblasNoTrans, (int)M, (int)N, (int)K, alpha, A, leading(lda), B,
               leading(ldb), beta, C, leading(ldc));
}

void gemm_setup(void)
{
#if HAVE_OPENBLAS
    openblas_set_num_threads(1);
#endif
}

const char *gemm_library(void)
{
#if HAVE_OPENBLAS
    return openblas_get_config();
#else
    return "CBLAS";
#endif
}

const char *gemm_threading(void)
{
#if HAVE_OPENBLAS
    switch (openblas_get_parallel()) {
    case OPENBLAS_THREAD:
        return "pthreads";
    case OPENBLAS_OPENMP:
        return "OpenMP";
    default:
        return "serial";
    }
#else
    return "unknown";
#endif
}

#endif
