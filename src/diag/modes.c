#include "diag/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/noise.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-11
#else
#define NEAR 1e-5
#endif

/* Of a large batch a few rows are enough. */
static size_t rows_of(const struct work *w)
{
    return w->B < 4 ? w->B : 4;
}

/* How many passes, each of another step and other rows of it, give other bits than an evaluation. */
static size_t count_other_passes(const struct gpt *g, struct work *w, const uint32_t *tokens, real *before,
                                 uint64_t seed)
{
    static const uint32_t steps[] = {0, 1, 2, 13, 1017, 4000000007u}, rows[] = {0, 1, 0, 16, 0, 333};
    const size_t B = rows_of(w), n = B * w->T * g->config.vocab_size;
    size_t other = 0;
    gpt_forward(g, w, tokens, B, w->T, &gpt_evaluating);
    memcpy(before, w->logits, n * sizeof *before);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const struct gpt_pass pass = {.training = true, .seed = seed, .step = steps[k], .first_row = rows[k]};
        gpt_forward(g, w, tokens, B, w->T, &pass);
        bool same = true;
        for (size_t i = 0; i < n && same; i++)
            same = before[i] == w->logits[i] || (isnan(before[i]) && isnan(w->logits[i]));
        other += !same;
    }
    return other;
}

/* The first row's window in every row: the largest difference of a logit, over the largest logit or 1. */
static double row_difference(const struct gpt *g, struct work *w, uint32_t *tokens)
{
    const size_t B = rows_of(w), n = w->T * g->config.vocab_size;
    double off = 0, scale = 1;
    for (size_t b = 1; b < B; b++)
        memcpy(tokens + b * w->T, tokens, w->T * sizeof *tokens);
    gpt_forward(g, w, tokens, B, w->T, &gpt_evaluating);
    for (size_t k = 0; k < B * n; k++) {
        off = fmax(off, fabs((double)w->logits[k] - (double)w->logits[k % n]));
        scale = fmax(scale, fabs((double)w->logits[k]));
    }
    return off / scale;
}

enum status modes_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens, uint64_t seed,
                        struct error *err)
{
    struct gpt plain = *g; /* but for dropout */
    plain.config.dropout = 0;
    const size_t N = rows_of(w) * w->T;
    struct noise noise;
    enum status s = noise_measure(&noise, g, w, tokens, tokens, 1, w->T, seed, err);
    if (s)
        return s;
    real *before = malloc(N * g->config.vocab_size * sizeof *before);
    uint32_t *alike = malloc(N * sizeof *alike);
    if (!before || !alike) {
        s = fail(err, STATUS_MEMORY, "check: memory for a second set of logits was refused");
    } else {
        memcpy(alike, tokens, N * sizeof *alike);
        const size_t other = count_other_passes(&plain, w, tokens, before, seed);
        const bool rows = row_difference(&plain, w, alike) > NEAR + 8 * noise.logits;
        verdict_say(v, "training", other || rows ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                    other || rows ? "training passes without dropout, or rows of a batch, are not all one model"
                                  : "without dropout six training passes give evaluation's bits, and every batch row "
                                    "gives the same");
        if (other)
            verdict_find(v, "training", "without dropout, %zu of 6 training passes give other logits than evaluation",
                         other);
        if (rows)
            verdict_find(v, "training", "one window gives other logits in another row of the batch");
    }
    free(before);
    free(alike);
    return s;
}
