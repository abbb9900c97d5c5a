#include "kernels/layernorm.h"

#include <assert.h>
#include <math.h>

#include "kernels/variants.h"
#include "kernels/vmath.h"

#define GRAIN 16 /* channels: no two lanes write one cache line */

VARIANTS(void, layernorm_forward,
         (const struct lane *lane, real *y, real *restrict mean, real *restrict rstd, const real *x, const real *gain,
          const real *bias, double epsilon, size_t N, size_t C),
         (lane, y, mean, rstd, x, gain, bias, epsilon, N, C))
{
    assert(C > 0);
    const struct span s = lane_span(lane, N, 1);
    for (size_t n = s.begin; n < s.end; n++) {
        const real *x_n = x + n * C;
        real *y_n = y + n * C;
        const real m = vmath_sum(x_n, C) / (real)C;
        /* The second pass subtracts the mean first: no digits are lost when it is large. */
        for (size_t c = 0; c < C; c++)
            y_n[c] = x_n[c] - m;
        const real variance = vmath_dot(y_n, y_n, C) / (real)C;
        const real r = (real)(1 / sqrt((double)variance + epsilon));
        if (bias)
            for (size_t c = 0; c < C; c++)
                y_n[c] = y_n[c] * r * gain[c] + bias[c];
        else
            for (size_t c = 0; c < C; c++)
                y_n[c] = y_n[c] * r * gain[c];
        mean[n] = m;
        rstd[n] = r;
    }
}

/* With xhat = (x - mean) rstd and g = dy * gain:
 *   dx = rstd (g - mean_c(g) - xhat mean_c(g xhat)),
 * the two means being what flows back through mean and rstd. */
VARIANTS(void, layernorm_backward_input,
         (const struct lane *lane, real *restrict dx, const real *dy, const real *x, const real *mean, const real *rstd,
          const real *gain, size_t N, size_t C),
         (lane, dx, dy, x, mean, rstd, gain, N, C))
{
    assert(C > 0);
    const struct span s = lane_span(lane, N, 1);
    for (size_t n = s.begin; n < s.end; n++) {
        const real *dy_n = dy + n * C, *x_n = x + n * C;
        real *dx_n = dx + n * C;
        const real m = mean[n], r = rstd[n];
        real g_acc[VMATH_LANES] = {0}, gx_acc[VMATH_LANES] = {0};
        size_t c = 0;
        for (; c + VMATH_LANES <= C; c += VMATH_LANES)
            for (size_t k = 0; k < VMATH_LANES; k++) {
                const real g = dy_n[c + k] * gain[c + k];
                g_acc[k] += g;
                gx_acc[k] += g * (x_n[c + k] - m) * r;
            }
        for (size_t k = 0; c < C; c++, k++) {
            const real g = dy_n[c] * gain[c];
            g_acc[k] += g;
            gx_acc[k] += g * (x_n[c] - m) * r;
        }
        const real g_mean = vmath_reduce(g_acc) / (real)C;
        const real gx_mean = vmath_reduce(gx_acc) / (real)C;
        for (c = 0; c < C; c++) /* forward: y = xhat * gain + bias */
            dx_n[c] += r * (dy_n[c] * gain[c] - g_mean - (x_n[c] - m) * r * gx_mean);
    }
}

VARIANTS(void, layernorm_backward_weight,
         (const struct lane *lane, real *restrict dgain, real *restrict dbias, const real *dy, const real *x,
          const real *mean, const real *rstd, size_t N, size_t C),
         (lane, dgain, dbias, dy, x, mean, rstd, N, C))
{
    const struct span s = lane_span(lane, C, GRAIN);
    for (size_t n = 0; n < N; n++) {
        const real *dy_n = dy + n * C, *x_n = x + n * C;
        const real m = mean[n], r = rstd[n];
        for (size_t c = s.begin; c < s.end; c++)
            dgain[c] += dy_n[c] * (x_n[c] - m) * r; /* forward: y = xhat * gain + bias */
        if (dbias)
            for (size_t c = s.begin; c < s.end; c++)
                dbias[c] += dy_n[c];
    }
}
