#include "kernels/norm.h"

#include "kernels/variants.h"

#include <math.h>

#define CHUNK 4096
#define WIDE 8

size_t norm_partials(size_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

VARIANTS(void, norm_squares, (const struct lane *lane, double *restrict partial, const real *x, size_t n),
         (lane, partial, x, n))
{
    const struct span s = lane_span(lane, norm_partials(n), 1);
    for (size_t k = s.begin; k < s.end; k++) {
        const size_t begin = k * CHUNK, end = begin + CHUNK < n ? begin + CHUNK : n;
        double acc[WIDE] = {0};
        size_t i = begin;
        for (; i + WIDE <= end; i += WIDE)
            for (size_t w = 0; w < WIDE; w++)
                acc[w] += (double)x[i + w] * (double)x[i + w];
        for (; i < end; i++)
            acc[0] += (double)x[i] * (double)x[i];
        double sum = 0;
        for (size_t w = 0; w < WIDE; w++)
            sum += acc[w];
        partial[k] = sum;
    }
}

double norm_finish(const double *partial, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < norm_partials(n); k++)
        sum += partial[k];
    return sqrt(sum);
}
