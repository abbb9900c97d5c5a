#include "diag/generation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums the losses of rows [first, length) of the first `length` symbols of each window. tokens, targets (n,T); batch
 * has room for the tokens, then the targets, of a whole work. */
static double sum_losses(const struct gpt *g, struct work *w, uint32_t *batch, const uint32_t *tokens,
                         const uint32_t *targets, size_t n, size_t T, size_t first, size_t length)
{
    uint32_t *inputs = batch, *wanted = batch + w->B * T;
    double sum = 0;
    for (size_t row = 0; row < n;) {
        const size_t B = n - row < w->B ? n - row : w->B;
        for (size_t b = 0; b < B; b++) {
            memcpy(inputs + b * length, tokens + (row + b) * T, length * sizeof *inputs);
            memcpy(wanted + b * length, targets + (row + b) * T, length * sizeof *wanted);
        }
        gpt_forward(g, w, inputs, B, length, &gpt_quiet);
        gpt_loss(g, w, wanted, B, length);
        for (size_t b = 0; b < B; b++)
            for (size_t t = first; t < length; t++)
                sum += (double)w->loss[b * length + t];
        row += B;
    }
    return sum;
}

enum status generation_loss(struct generation *r, const struct gpt *g, struct work *w, const uint32_t *tokens,
                            const uint32_t *targets, size_t n, size_t T, struct error *err)
{
    assert(n > 0 && T > 0 && T <= w->T);
    uint32_t *batch = malloc(2 * w->B * T * sizeof *batch);
    if (!batch)
        return fail(err, STATUS_MEMORY, "memory for a batch of %zu windows was refused", w->B);
    double alone = 0;
    for (size_t t = 0; t < T; t++)
        alone += sum_losses(g, w, batch, tokens, targets, n, T, t, t + 1);
    const double together = sum_losses(g, w, batch, tokens, targets, n, T, 0, T);
    free(batch);
    *r = (struct generation){alone / (double)(n * T), together / (double)(n * T)};
    if (!isfinite(r->loss) || !isfinite(r->parallel))
        return fail(err, STATUS_NONFINITE,
                    "the loss is not finite: the weights are spoiled, use an earlier checkpoint");
    return STATUS_OK;
}
