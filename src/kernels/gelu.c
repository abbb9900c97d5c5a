#include "kernels/gelu.h"

#include "kernels/variants.h"
#include "kernels/vmath.h"

static const real ROOT_2_OVER_PI = (real)0.79788456080286535588;
static const real CUBIC = (real)0.044715;

VARIANTS(void, gelu_forward, (const struct lane *lane, real *y, const real *x, size_t N, size_t C), (lane, y, x, N, C))
{
    const struct span s = lane_span(lane, N, 1);
    for (size_t i = s.begin * C; i < s.end * C; i++) {
        const real v = x[i];
        const real u = ROOT_2_OVER_PI * (v + CUBIC * v * v * v);
        y[i] = v / (1 + vmath_exp(-2 * u)); /* the exponential overflows to infinity, and y to 0, as it should */
    }
}

VARIANTS(void, gelu_backward, (const struct lane *lane, real *dx, const real *dy, const real *x, size_t N, size_t C),
         (lane, dx, dy, x, N, C))
{
    const struct span s = lane_span(lane, N, 1);
    for (size_t i = s.begin * C; i < s.end * C; i++) {
        const real v = x[i];
        const real u = ROOT_2_OVER_PI * (v + CUBIC * v * v * v);
        const real du = ROOT_2_OVER_PI * (1 + 3 * CUBIC * v * v);
        const real sigmoid = 1 / (1 + vmath_exp(-2 * u));
        /* forward: y = v sigmoid(2u), sigmoid' = sigmoid (1 - sigmoid) */
        dx[i] = dy[i] * (sigmoid + 2 * v * sigmoid * (1 - sigmoid) * du);
    }
}
