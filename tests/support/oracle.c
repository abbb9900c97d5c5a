#include "support/oracle.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

const size_t oracle_sizes[ORACLE_SIZES] = {1, 15, 16, 17, 37};

static void *take(struct pool *pool, size_t bytes)
{
    pool->blocks = realloc(pool->blocks, (pool->count + 1) * sizeof *pool->blocks);
    void *block = malloc(bytes > 0 ? bytes : 1);
    assert(pool->blocks && block);
    return pool->blocks[pool->count++] = block;
}

real *pool_real(struct pool *pool, size_t n)
{
    real *x = take(pool, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)NAN;
    return x;
}

double *pool_double(struct pool *pool, size_t n)
{
    double *x = take(pool, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = 0;
    return x;
}

uint32_t *pool_ids(struct pool *pool, size_t n, uint32_t stream, uint32_t below)
{
    const struct rng_site site = {.seed = 1, .purpose = RNG_TEST, .step = stream};
    uint32_t *ids = take(pool, n * sizeof *ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)rng_below(&site, (uint32_t)i, below);
    return ids;
}

real *pool_normal(struct pool *pool, size_t n, uint32_t stream, double scale)
{
    const struct rng_site site = {.seed = 2, .purpose = RNG_TEST, .step = stream};
    real *x = take(pool, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)(scale * rng_normal(&site, (uint32_t)i));
    return x;
}

real *pool_copy(struct pool *pool, const real *x, size_t n)
{
    real *copy = take(pool, n * sizeof *copy);
    if (n > 0)
        memcpy(copy, x, n * sizeof *copy);
    return copy;
}

double *pool_widen(struct pool *pool, const real *x, size_t n)
{
    double *wide = pool_double(pool, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
    return wide;
}

void pool_free(struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        free(pool->blocks[i]);
    free(pool->blocks);
    *pool = (struct pool){0};
}

double oracle_error_over(const real *got, const double *want, size_t n, double unit)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double g = (double)got[i];
        if (isnan(want[i]) || isnan(g)) {
            if (!(isnan(want[i]) && isnan(g)))
                return INFINITY;
        } else if (g != want[i]) { /* equal infinities are no error */
            const double error = fabs(g - want[i]);
            worst = error > worst ? error : worst;
        }
    }
    return worst == 0 ? 0 : worst / unit;
}

double oracle_error(const real *got, const double *want, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(want[i]) && fabs(want[i]) > largest)
            largest = fabs(want[i]);
    return oracle_error_over(got, want, n, largest);
}

void oracle_slopes(double *slope, double *x, size_t n, double (*loss)(void *context), void *context)
{
    for (size_t i = 0; i < n; i++) {
        const double middle = x[i], h = 0x1p-9;
        double at[5];
        for (int k = -2; k <= 2; k++) {
            x[i] = middle + k * h;
            at[k + 2] = k == 0 ? 0 : loss(context);
        }
        x[i] = middle;
        /* Near pair minus an eighth of the far pair: the h^2 terms cancel. */
        slope[i] += (8 * (at[3] - at[1]) - (at[4] - at[0])) / (12 * h);
    }
}

double oracle_dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
