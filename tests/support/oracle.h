/* What tests of numbers share: memory that frees itself together, random inputs, and comparison with a plain
 * double-precision computation of the same thing, the oracle. */
#ifndef SUPPORT_ORACLE_H
#define SUPPORT_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"

/* Largest allowed error of a gradient against finite differences of the oracle. */
#ifdef NOPEEK_DOUBLE
#define ORACLE_SLOPE_LIMIT 1e-8
#else
#define ORACLE_SLOPE_LIMIT 1e-5
#endif

/* Sizes worth trying around the vector width and the sharing grain of 16: 1, 15, 16, 17 and a prime. */
#define ORACLE_SIZES 5
extern const size_t oracle_sizes[ORACLE_SIZES];

/* Memory of one test. Each block is its own allocation of exactly the size asked for, so that a sanitizer sees
 * every step outside it. Starts as {0}. */
struct pool {
    void **blocks;
    size_t count;
};

/* n reals, all NaN: whoever reads what must only be assigned, or leaves a part unwritten, is seen. */
real *pool_real(struct pool *pool, size_t n);

/* n doubles, all 0. */
double *pool_double(struct pool *pool, size_t n);

/* n ids in 0 .. below-1, random by stream. */
uint32_t *pool_ids(struct pool *pool, size_t n, uint32_t stream, uint32_t below);

/* n reals drawn from a normal distribution of deviation `scale`; different streams are independent. */
real *pool_normal(struct pool *pool, size_t n, uint32_t stream, double scale);

/* A copy of x. */
real *pool_copy(struct pool *pool, const real *x, size_t n);

/* A copy of x in double. */
double *pool_widen(struct pool *pool, const real *x, size_t n);

void pool_free(struct pool *pool);

/* The largest |got - want| over the largest |want|; 0 when both are 0 throughout. Numbers that are not finite must
 * agree in kind, else the error is INFINITY. */
double oracle_error(const real *got, const double *want, size_t n);

/* The same over `unit` instead of the largest |want|: for results that cancel, an error is judged by the size of
 * what was summed. */
double oracle_error_over(const real *got, const double *want, size_t n, double unit);

/* slope[i] += d loss / d x[i] by five-point central differences, each x[i] put back afterwards. Exact to about
 * 1e-10 of the largest slope for smooth losses of moderate size. */
void oracle_slopes(double *slope, double *x, size_t n, double (*loss)(void *context), void *context);

/* sum_i x_i y_i: the loss whose gradient with respect to y is x. */
double oracle_dot(const double *x, const double *y, size_t n);

#endif
