#define _DEFAULT_SOURCE /* MAP_ANON */
#include "kernels/gemm.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "kernels/gemm_plain.h"

#ifndef NOPEEK_PLAIN_GEMM /* make BLAS=none */
#include <cblas.h>
#endif

/* Accelerate and reference CBLAS have no say over threads and no name to ask for. */
#ifdef OPENBLAS_VERSION
#define HAVE_OPENBLAS 1
#else
#define HAVE_OPENBLAS 0
#endif

/* Where OpenBLAS is built without threads its own memory has no lock: several threads that call it at once now and then
 * get wrong sums, or none. Whether it was built with USE_LOCKING cannot be asked. */
static bool library_is_safe(void)
{
#if HAVE_OPENBLAS
    return openblas_get_parallel() != OPENBLAS_SEQUENTIAL;
#elif defined NOPEEK_PLAIN_GEMM
    return false; /* there is none */
#else
    return true;
#endif
}

#ifndef NOPEEK_PLAIN_GEMM
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

static void library_gemm(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha,
                         const real *A, size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
    CBLAS_GEMM(CblasRowMajor, op_a == GEMM_TRANSPOSED ? CblasTrans : CblasNoTrans,
               op_b == GEMM_TRANSPOSED ? CblasTrans : CblasNoTrans, (int)M, (int)N, (int)K, alpha, A, leading(lda), B,
               leading(ldb), beta, C, leading(ldc));
}
#else
#define library_gemm gemm_plain
#endif

void gemm(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha, const real *A,
          size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
    assert(M <= INT_MAX && N <= INT_MAX && K <= INT_MAX);
    if (M == 0 || N == 0)
        return;
    if (library_is_safe())
        library_gemm(op_a, op_b, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
    else
        gemm_plain(op_a, op_b, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
}

void gemm_setup(void)
{
#if HAVE_OPENBLAS
    openblas_set_num_threads(1);
#endif
}

#if HAVE_OPENBLAS
/* BUFFER_SIZE of a usual build, and the page that goes with it. */
#define LIBRARY_BUFFER (((size_t)128 << 20) + 8192)
#define LIBRARY_THREADS 1024

bool gemm_has_room(int threads)
{
    void *block[LIBRARY_THREADS];
    int n = 0;
    const int wanted = threads < LIBRARY_THREADS ? threads : LIBRARY_THREADS;
    for (; library_is_safe() && n < wanted; n++) {
        block[n] = mmap(NULL, LIBRARY_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (block[n] == MAP_FAILED)
            break;
    }
    const bool room = n == wanted || !library_is_safe();
    while (n > 0)
        munmap(block[--n], LIBRARY_BUFFER);
    return room;
}
#else
bool gemm_has_room(int threads)
{
    (void)threads;
    return true;
}
#endif

const char *gemm_library(void)
{
#if HAVE_OPENBLAS
    return library_is_safe() ? openblas_get_config()
                             : "plain C loops, slow, as this OpenBLAS cannot serve several threads";
#elif defined NOPEEK_PLAIN_GEMM
    return "plain C loops, slow, made with BLAS=none";
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
#elif defined NOPEEK_PLAIN_GEMM
    return "serial";
#else
    return "unknown";
#endif
}
