#include "diag/stress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/findings.h"
#include "diag/leak.h"

/* Scores this large are aimed at: past -1e4, past -1e9, and the most that is still far from overflow. */
static const double AIMS[] = {1e5, 1e8, 1e12};

struct scores {
    double lowest, highest; /* of the rows' largest scores */
};

static struct scores measure(const struct gpt *g, struct work *w, const uint32_t *tokens)
{
    struct scores s = {INFINITY, -INFINITY};
    gpt_forward(g, w, tokens, w->B, w->T, &gpt_evaluating);
    for (size_t layer = 0; layer < g->config.n_layer; layer++)
        for (size_t k = 0; k < w->B * g->config.n_head * w->T; k++) {
            const double m = (double)w->block[layer].rows.max_score[k];
            s.lowest = m < s.lowest ? m : s.lowest;
            s.highest = m > s.highest ? m : s.highest;
        }
    return s;
}

/* A constant c hides a key while its score plus c is so far below the largest visible one that its weight underflows.
 */
static void say_margin(struct verdict *v, const struct scores *s)
{
    const double reach = s->highest - s->lowest + 104; /* exp(-104) is 0 in single precision */
    verdict_say(v, "margin", reach < 1e4 ? VERDICT_CLEAN : VERDICT_NOTED, 0,
                "largest scores of a row lie in %.3g .. %.3g: a mask of -1e4 %s here, -1e9 %s (nopeek's is no number)",
                s->lowest, s->highest, reach < 1e4 ? "would hold" : "would leak",
                reach < 1e9 ? "would hold" : "would leak");
}

/* Multiplies W_Q, W_K and their biases. */
static void sharpen(struct gpt *g, real factor)
{
    for (size_t layer = 0; layer < g->config.n_layer; layer++) {
        struct params_view view[6];
        const size_t views = params_views(view, &g->table, layer);
        for (size_t k = 0; k < views; k++) {
            const struct params_tensor *t = &g->table.tensor[view[k].tensor];
            if (strcmp(view[k].name + 1, "_Q") != 0 && strcmp(view[k].name + 1, "_K") != 0)
                continue;
            for (size_t row = 0; row < t->rows; row++)
                for (size_t col = view[k].begin; col < view[k].begin + view[k].cols; col++)
                    g->params[t->offset + row * t->cols + col] *= factor;
        }
    }
}

static enum status run(struct verdict *v, const struct gpt *g, struct gpt *copy, struct work *w, double largest,
                       const uint32_t *tokens, struct leak_report *r, uint64_t seed, struct error *err)
{
    struct scores s = {0};
    for (size_t k = 0; k < sizeof AIMS / sizeof *AIMS; k++) {
        memcpy(copy->params, g->params, g->table.size * sizeof *copy->params);
        sharpen(copy, (real)sqrt(AIMS[k] / fmax(largest, 1e-3)));
        s = measure(copy, w, tokens);
        const enum status status = leak_check(r, copy, w, LEAK_FULL, seed, 0, err);
        if (status == STATUS_NONFINITE) {
            verdict_say(v, "stress", VERDICT_NOTED, 0, "scores aimed at %.0e give logits that are not finite", AIMS[k]);
            return STATUS_OK;
        }
        if (status)
            return status;
        if (r->leak) {
            verdict_say(v, "stress", VERDICT_FOUND, 0, "with scores up to %.1e the future shows", s.highest);
            findings_of_leak(v, "stress", r);
            return STATUS_OK;
        }
    }
    verdict_say(v, "stress", VERDICT_CLEAN, 0, "query and key weights scaled up until scores reach %.1e: no leak",
                s.highest);
    return STATUS_OK;
}

enum status stress_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens, uint64_t seed,
                         struct error *err)
{
    const struct scores s = measure(g, w, tokens);
    say_margin(v, &s);
    struct gpt copy = *g; /* but for its parameters */
    copy.params = malloc(g->table.size * sizeof *copy.params);
    struct leak_report *r = malloc(sizeof *r);
    const enum status status =
        copy.params && r ? run(v, g, &copy, w, fmax(fabs(s.lowest), fabs(s.highest)), tokens, r, seed, err)
                         : fail(err, STATUS_MEMORY, "check: memory for a second set of parameters was refused");
    free(copy.params);
    free(r);
    return status;
}
