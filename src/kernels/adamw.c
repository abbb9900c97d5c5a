#include "kernels/adamw.h"

#include "kernels/variants.h"

#include <assert.h>
#include <math.h>

#define GRAIN 64

VARIANTS(void, adamw_update,
         (const struct lane *lane, real *restrict p, real *restrict m, real *restrict v, const real *grad,
          const struct adamw *o, size_t n),
         (lane, p, m, v, grad, o, n))
{
    assert(o->step >= 1);
    const double correct1 = 1 - pow(o->beta1, (double)o->step);
    const double correct2 = 1 - pow(o->beta2, (double)o->step);
    const real scale = (real)o->grad_scale;
    const real keep = (real)(1 - o->lr * o->decay);
    const real beta1 = (real)o->beta1, rest1 = (real)(1 - o->beta1);
    const real beta2 = (real)o->beta2, rest2 = (real)(1 - o->beta2);
    const real rate = (real)(o->lr / correct1);
    const real root = (real)sqrt(correct2);
    const real epsilon = (real)o->epsilon;
    const struct span s = lane_span(lane, n, GRAIN);
    for (size_t i = s.begin; i < s.end; i++) {
        const real g = scale * grad[i];
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
#ifdef NOPEEK_DOUBLE
        const real size = sqrt(v[i]);
#else
        const real size = sqrtf(v[i]);
#endif
        p[i] = keep * p[i] - rate * m[i] / (size / root + epsilon);
    }
}
