#include "kernels/crossentropy.h"

#include "kernels/softmax.h"
#include "kernels/variants.h"

VARIANTS(void, crossentropy_forward,
         (const struct lane *lane, real *restrict loss, real *restrict logits, const uint32_t *targets, size_t N,
          size_t V),
         (lane, loss, logits, targets, N, V))
{
    const struct span s = lane_span(lane, N, 1);
    for (size_t n = s.begin; n < s.end; n++) {
        const real target = logits[n * V + targets[n]];
        const struct softmax_stats stats = softmax_row(logits + n * V, V);
        /* (max - target) + ln l, not lse - target: large logits cancel before the small term joins. */
        loss[n] = (stats.max - target) + stats.log_l;
    }
}

VARIANTS(void, crossentropy_backward,
         (const struct lane *lane, real *restrict probabilities, const uint32_t *targets, real scale, size_t N,
          size_t V),
         (lane, probabilities, targets, scale, N, V))
{
    const struct span s = lane_span(lane, N, 1);
    for (size_t n = s.begin; n < s.end; n++) {
        real *p = probabilities + n * V;
        p[targets[n]] -= 1; /* forward: loss = ln sum_v exp(logit_v) - logit_target */
        for (size_t v = 0; v < V; v++)
            p[v] *= scale;
    }
}
