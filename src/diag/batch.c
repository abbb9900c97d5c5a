#include "diag/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "diag/leak_locate.h"

#define ROWS 4

struct trial {
    const struct gpt *g;
    struct work *w;
    size_t B, T, V;
    uint32_t *tokens, *changed; /* (B,T) */
    real *before;               /* (T,V): logits of the row that stays */
};

static bool forward_mixes(const struct trial *t, size_t row, const struct gpt_pass *pass)
{
    const size_t n = t->T * t->V;
    gpt_forward(t->g, t->w, t->tokens, t->B, t->T, pass);
    memcpy(t->before, t->w->logits + row * n, n * sizeof *t->before);
    for (size_t b = 0; b < t->B; b++)
        for (size_t i = 0; i < t->T; i++) {
            const uint32_t id = t->tokens[b * t->T + i];
            t->changed[b * t->T + i] = b == row ? id : (id + 1 + (uint32_t)i % ((uint32_t)t->V - 1)) % (uint32_t)t->V;
        }
    gpt_forward(t->g, t->w, t->changed, t->B, t->T, pass);
    for (size_t k = 0; k < n; k++)
        if (t->before[k] != t->w->logits[row * n + k])
            return true;
    return false;
}

static bool backward_mixes(const struct trial *t, size_t row, const struct gpt_pass *pass)
{
    const size_t n = t->T * t->V, C = t->g->config.n_embd;
    gpt_forward(t->g, t->w, t->tokens, t->B, t->T, pass);
    memset(t->w->logits, 0, t->B * n * sizeof(real));
    for (size_t k = 0; k < n; k++)
        t->w->logits[row * n + k] = (real)(k % 3) - 1;
    gpt_backward(t->g, t->w, t->tokens, t->B, t->T, pass, NULL);
    for (size_t k = 0; k < t->B * t->T * C; k++)
        if (k / (t->T * C) != row && t->w->dres[k] != 0)
            return true;
    return false;
}

static enum status blame(struct verdict *v, const struct trial *t, bool forward, uint64_t seed, struct error *err)
{
    struct leak_report *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "check: out of memory");
    const enum status s = forward ? leak_locate_batch(r, t->g, t->w, seed, 0, err) : STATUS_OK;
    for (size_t k = 0; !s && k < r->places && k < LEAK_PLACES; k++) {
        struct verdict_finding *f =
            verdict_find(v, "batch", "%s takes from other rows of the batch", r->place[k].operation);
        f->layer = r->place[k].layer;
        snprintf(f->operation, sizeof f->operation, "%s", r->place[k].operation);
    }
    if (!s && r->places == 0)
        verdict_find(v, "batch",
                     forward ? "a row's logits change with other rows of the batch"
                             : "a gradient reaches other rows of the batch than the one it starts in")
            ->backward = !forward;
    free(r);
    return s;
}

static enum status run(struct verdict *v, const struct trial *t, uint64_t seed, struct error *err)
{
    const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 6};
    for (size_t k = 0; k < t->B * t->T; k++)
        t->tokens[k] = (uint32_t)rng_below(&site, (uint32_t)k, t->V);
    const struct gpt_pass training = {.training = true, .seed = seed};
    bool forward = false, backward = false;
    for (int mode = 0; mode < 2; mode++)
        for (size_t end = 0; end < 2; end++) {
            const size_t row = end ? t->B - 1 : 0;
            forward |= t->V > 1 && forward_mixes(t, row, mode ? &training : &gpt_evaluating);
            backward |= backward_mixes(t, row, mode ? &training : &gpt_evaluating);
        }
    verdict_say(v, "batch", forward || backward ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                forward || backward ? "rows of a batch of %zu are mixed up"
                                    : "the rows of a batch of %zu keep to themselves, forward and backward",
                t->B);
    return forward || backward ? blame(v, t, forward, seed, err) : STATUS_OK;
}

enum status batch_check(struct verdict *v, const struct gpt *g, struct work *w, uint64_t seed, struct error *err)
{
    struct trial t = {.g = g, .w = w, .B = w->B < ROWS ? w->B : ROWS, .T = w->T, .V = g->config.vocab_size};
    if (t.B < 2) {
        verdict_say(v, "batch", VERDICT_SKIPPED, 0, "a batch of one row has no other");
        return STATUS_OK;
    }
    t.tokens = calloc(t.B * t.T, sizeof *t.tokens);
    t.changed = malloc(t.B * t.T * sizeof *t.changed);
    t.before = malloc(t.T * t.V * sizeof *t.before);
    const enum status s = t.tokens && t.changed && t.before
                              ? run(v, &t, seed, err)
                              : fail(err, STATUS_MEMORY, "check: memory for a batch of %zu rows was refused", t.B);
    free(t.tokens);
    free(t.changed);
    free(t.before);
    return s;
}
