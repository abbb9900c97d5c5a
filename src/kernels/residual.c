#include "kernels/residual.h"

#include "kernels/variants.h"

VARIANTS(void, residual_forward,
         (const struct lane *lane, real *y, const real *x, const real *branch, size_t N, size_t C),
         (lane, y, x, branch, N, C))
{
    const struct span s = lane_span(lane, N, 1);
    for (size_t i = s.begin * C; i < s.end * C; i++)
        y[i] = x[i] + branch[i];
}
