/* Softmax of one row, with what attention logs about it. */
#ifndef KERNELS_SOFTMAX_H
#define KERNELS_SOFTMAX_H

#include <math.h>
#include <stddef.h>

#include "base/real.h"
#include "kernels/variants.h"
#include "kernels/vmath.h"

struct softmax_stats {
    real max;     /* m, the largest score */
    real log_l;   /* ln l,  l = sum_j exp(s_j - m) */
    real lse;     /* ln sum_j exp(s_j) = m + ln l; at large m it has lost the last digits of ln l */
    real entropy; /* nats: ln l - sum_j p_j (s_j - m). The shorter lse - E[s] loses every digit at scores of 1e4. */
};

/* The largest of n numbers; NaN if there is one. */
VARIANTS_INLINE real softmax_max(const real *s, size_t n)
{
    real acc[VMATH_LANES];
    for (size_t k = 0; k < VMATH_LANES; k++)
        acc[k] = -(real)INFINITY;
    real nan = 0; /* becomes NaN with the first NaN: comparisons alone would pass it by */
    size_t i = 0;
    for (; i + VMATH_LANES <= n; i += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++)
            acc[k] = s[i + k] > acc[k] ? s[i + k] : acc[k];
    for (size_t k = 0; i < n; i++, k++)
        acc[k] = s[i] > acc[k] ? s[i] : acc[k];
    for (i = 0; i < n; i++)
        nan += s[i] != s[i] ? s[i] : 0;
    real max = acc[0];
    for (size_t k = 1; k < VMATH_LANES; k++)
        max = acc[k] > max ? acc[k] : max;
    return max + nan;
}

/* p_j = exp(s_j - m) / l, in place. Scores of -INFINITY get exactly 0. A row of nothing else gets zeros and, as does
 * n = 0, max = lse = log_l = -INFINITY and entropy 0. NaN anywhere makes every p and all statistics NaN.
 * 0 <= entropy <= ln n. */
VARIANTS_INLINE struct softmax_stats softmax_row(real *s, size_t n)
{
    const real m = softmax_max(s, n);
    if (m == -(real)INFINITY) {
        for (size_t j = 0; j < n; j++)
            s[j] = 0;
        return (struct softmax_stats){.max = m, .log_l = m, .lse = m, .entropy = 0};
    }
    real sum[VMATH_LANES] = {0}, weighted[VMATH_LANES] = {0};
    size_t j = 0;
    for (; j + VMATH_LANES <= n; j += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++) {
            const real z = s[j + k] - m, e = vmath_exp(z);
            s[j + k] = e;
            sum[k] += e;
            weighted[k] += e == 0 ? 0 : e * z; /* x ln x -> 0; z may be -infinity */
        }
    for (size_t k = 0; j < n; j++, k++) {
        const real z = s[j] - m, e = vmath_exp(z);
        s[j] = e;
        sum[k] += e;
        weighted[k] += e == 0 ? 0 : e * z;
    }
    const real l = vmath_reduce(sum);
    for (j = 0; j < n; j++)
        s[j] /= l;
    const real log_l = (real)log((double)l), most = (real)log((double)n);
    real entropy = log_l - vmath_reduce(weighted) / l;
    entropy = entropy < 0 ? 0 : entropy > most ? most : entropy; /* rounding only; NaN stays */
    return (struct softmax_stats){.max = m, .log_l = log_l, .lse = m + log_l, .entropy = entropy};
}

#endif
