#include "kernels/attention_shape.h"

#include <assert.h>
#include <math.h>

#include "kernels/attention_fault.h"

struct attention_interval attention_shape_keys(enum attention_rule rule, size_t window, size_t T_q, size_t T_k,
                                               size_t i)
{
    const size_t end = T_k - T_q + i + 1;
    switch (rule) {
    case ATTENTION_CAUSAL:
        return (struct attention_interval){0, end};
    case ATTENTION_FULL:
        return (struct attention_interval){0, T_k};
    case ATTENTION_WINDOW:
        return (struct attention_interval){end > window ? end - window : 0, end};
    }
    assert(0 && "a rule that exists");
    return (struct attention_interval){0, 0};
}

void attention_shape_assert(const struct attention_shape *s)
{
    assert(s->B > 0 && s->H > 0 && s->H_kv > 0 && s->hs > 0 && s->T_q > 0);
    assert(s->T_q <= s->T_k);
    assert(s->H % s->H_kv == 0);
    assert(s->rules);
}

void attention_shape_summary(double *normalised, double *max_score, const struct attention_rows *rows,
                             const struct attention_shape *s)
{
    for (size_t h = 0; h < s->H; h++) {
        double sum = 0, max = -INFINITY;
        size_t counted = 0;
        for (size_t i = 0; i < s->T_q; i++) {
            const struct attention_interval keys = attention_fault_keys(s, h, ATTENTION_SCORES, i);
            const size_t visible = keys.end - keys.begin;
            double rows_sum = 0; /* of this query in every batch row */
            for (size_t b = 0; b < s->B; b++) {
                const size_t row = (b * s->H + h) * s->T_q + i;
                if (!isnan(max) && !(rows->max_score[row] <= max)) /* NaN stays once it is there */
                    max = rows->max_score[row];
                rows_sum += (double)rows->entropy[row];
            }
            if (visible < 2)
                continue;
            sum += rows_sum / log((double)visible);
            counted += s->B;
        }
        const double mean = counted ? sum / (double)counted : (double)NAN;
        normalised[h] = mean > 1 ? 1 : mean; /* ln of the visible keys, rounded to a real, may lie above it */
        max_score[h] = max;
    }
}
