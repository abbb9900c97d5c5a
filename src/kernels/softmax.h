/* Softmax of one row, with what attention logs about it. */
#ifndef KERNELS_SOFTMAX_H
#define KERNELS_SOFTMAX_H

#include <stddef.h>

#include "base/real.h"

struct softmax_stats {
    real max;     /* m, the largest score */
    real log_l;   /* ln l,  l = sum_j exp(s_j - m) */
    real lse;     /* ln sum_j exp(s_j) = m + ln l; at large m it has lost the last digits of ln l */
    real entropy; /* nats: ln l - sum_j p_j (s_j - m). The shorter lse - E[s] loses every digit at scores of 1e4. */
};

/* p_j = exp(s_j - m) / l, in place. Scores of -INFINITY get exactly 0. A row of nothing else gets zeros and, as does
 * n = 0, max = lse = log_l = -INFINITY and entropy 0. NaN anywhere makes every p and all statistics NaN.
 * 0 <= entropy <= ln n. */
struct softmax_stats softmax_row(real *s, size_t n);

#endif
