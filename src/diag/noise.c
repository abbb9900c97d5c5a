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
#define DRAWS 2

static double mean_loss(const struct gpt *g, struct work *w, const uint32_t *tokens, const uint32_t *targets, size_t T,
                        real *logits)
{
    gpt_forward(g, w, tokens, 1, T, &gpt_quiet);
    memcpy(logits, w->logits, T * g->config.vocab_size * sizeof *logits);
    gpt_loss(g, w, targets, 1, T);
    return gpt_mean_loss(w, T);
}

/* *moved has room for parameters of its own. */
static void move(struct gpt *moved, const struct gpt *g, uint64_t seed, uint32_t draw)
{
    const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 12, .row = draw};
    uint32_t bits = 0;
    for (size_t k = 0; k < g->table.size; k++, bits >>= 1) {
        if (k % 32 == 0)
            bits = rng_bits(&site, (uint32_t)(k / 32));
        moved->params[k] = g->params[k] * (1 + (bits & 1 ? (real)STEP : -(real)STEP));
    }
}

enum status noise_measure(struct noise *r, const struct gpt *g, struct work *w, const uint32_t *tokens,
                          const uint32_t *targets, size_t n, size_t T, uint64_t seed, struct error *err)
{
    assert(n > 0 && T > 0 && T <= w->T);
    const size_t logits = T * g->config.vocab_size, size = g->table.size;
    struct gpt moved = *g; /* but for its parameters */
    moved.params = malloc((size + 2 * logits) * sizeof *moved.params);
    *r = (struct noise){0};
    if (!moved.params)
        return fail(err, STATUS_MEMORY, "check: memory for a second set of parameters was refused");
    real *before = moved.params + size, *after = before + logits;
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        move(&moved, g, seed, draw);
        for (size_t window = 0; window < n; window++) {
            const size_t at = window * T;
            const double right = mean_loss(g, w, tokens + at, targets + at, T, before);
            const double other = mean_loss(&moved, w, tokens + at, targets + at, T, after);
            r->loss = fmax(r->loss, fabs(right - other));
            for (size_t k = 0; k < logits; k++)
                r->logits = fmax(r->logits, fabs((double)before[k] - (double)after[k]));
        }
    }
    free(moved.params);
    return STATUS_OK;
}
