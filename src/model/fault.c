#include "model/fault.h"

enum attention_fault fault_attention(const struct fault *f, size_t layer, bool dropping, bool logging, bool prefill)
{
    if (!f || (f->layer != FAULT_EVERYWHERE && f->layer != layer))
        return ATTENTION_FAULT_NONE;
    const bool shows = f->when == FAULT_ALWAYS || (f->when == FAULT_WITH_DROPOUT && dropping) ||
                       (f->when == FAULT_WHEN_LOGGED && logging) || (f->when == FAULT_IN_PREFILL && prefill);
    return shows ? f->attention : ATTENTION_FAULT_NONE;
}

/* x[k] += share * mean over the n rows that lie `step` numbers apart; symmetric, so its own transpose. */
static void add_mean(real *x, real share, size_t n, size_t step, size_t width)
{
    for (size_t c = 0; c < width; c++) {
        real sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += x[i * step + c];
        for (size_t i = 0; i < n; i++)
            x[i * step + c] += share * sum / (real)n;
    }
}

/* x_b += x_{b+1} / 2; transposed: x_{b+1} += x_b / 2. The last row has no next. */
static void add_next(real *x, size_t B, size_t row, bool transposed)
{
    for (size_t k = 1; k < B; k++) {
        const size_t b = transposed ? B - k : k - 1;
        for (size_t c = 0; c < row; c++)
            if (transposed)
                x[b * row + c] += x[(b - 1) * row + c] / 2;
            else
                x[b * row + c] += x[(b + 1) * row + c] / 2;
    }
}

void fault_mix(const struct lane *lane, const struct fault *f, enum fault_place place, size_t layer, real *x, size_t B,
               size_t T, size_t width, bool transposed)
{
    if (!f || f->mixing == FAULT_NO_MIXING || f->place != place || (f->layer != FAULT_EVERYWHERE && f->layer != layer))
        return;
    lane_barrier(lane);
    if (lane->index == 0) {
        for (size_t b = 0; b < B; b++) {
            real *x_b = x + b * T * width;
            if (f->mixing == FAULT_TIME_MEAN)
                add_mean(x_b, -1, T, width, width);
            for (size_t t = 0; f->mixing == FAULT_BLOCK_MEAN && t < T; t += f->block)
                add_mean(x_b + t * width, 1, f->block < T - t ? f->block : T - t, width, width);
        }
        if (f->mixing == FAULT_BATCH_MEAN)
            add_mean(x, -1, B, T * width, T * width);
        if (f->mixing == FAULT_BATCH_NEXT)
            add_next(x, B, T * width, transposed);
    }
    lane_barrier(lane);
}
