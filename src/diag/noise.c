#include "diag/noise.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#ifdef NOPEEK_DOUBLE
#define STEP (2 * DBL_EPSILON)
#else
#define STEP (2 * FLT_EPSILON)
#endif
#define DRAWS 3

static double mean_loss(const struct gpt *g, struct work *w, const uint32_t *tokens, const uint32_t *targets, size_t T,
                        real *logits)
{
    gpt_forward(g, w, tokens, 1, T, &gpt_quiet);
    memcpy(logits, w->logits, T * g->config.vocab_size * sizeof *logits);
    gpt_loss(g, w, targets, 1, T);
    return gpt_mean_loss(w, T);
}

enum status noise_measure(struct noise *r, const struct gpt *g, struct work *w, const uint32_t *tokens,
                          const uint32_t *targets, size_t n, size_t T, uint64_t seed, struct error *err)
{
    assert(n > 0 && T > 0 && T <= w->T);
    const size_t V = g->config.vocab_size, size = g->table.size;
    struct gpt moved = *g; /* but for its parameters */
    moved.params = malloc(size * sizeof *moved.params);
    real *before = malloc(T * V * sizeof *before), *after = malloc(T * V * sizeof *after);
    enum status s = STATUS_OK;
    *r = (struct noise){0};
    if (!moved.params || !before || !after)
        s = fail(err, STATUS_MEMORY, "check: memory for a second set of parameters was refused");
    for (uint32_t draw = 0; !s && draw < DRAWS; draw++) {
        const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 8, .row = draw};
        for (size_t k = 0; k < size; k++) {
            const uint32_t bits = rng_bits(&site, (uint32_t)(k / 32));
            moved.params[k] = g->params[k] * (1 + (bits >> (k % 32) & 1 ? (real)STEP : -(real)STEP));
        }
        for (size_t window = 0; window < n; window++) {
            const size_t at = window * T;
            const double right = mean_loss(g, w, tokens + at, targets + at, T, before);
            const double other = mean_loss(&moved, w, tokens + at, targets + at, T, after);
            r->loss = fmax(r->loss, fabs(right - other));
            for (size_t k = 0; k < T * V; k++)
                r->logits = fmax(r->logits, fabs((double)before[k] - (double)after[k]));
        }
    }
    free(moved.params);
    free(before);
    free(after);
    return s;
}
