#include "diag/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scores scores_measure(const struct gpt *g, struct work *w, const uint32_t *tokens)
{
    struct scores s = {INFINITY, -INFINITY};
    gpt_forward(g, w, tokens, w->B, w->T, &gpt_evaluating);
    for (size_t layer = 0; layer < g->config.n_layer; layer++)
        for (size_t k = 0; k < w->B * g->config.n_head * w->T; k++) {
            const double m = (double)w->block[layer].rows.max_score[k];
            if (m == -INFINITY) /* a row that sees nothing */
                continue;
            s.lowest = m < s.lowest ? m : s.lowest;
            s.highest = m > s.highest ? m : s.highest;
        }
    return s;
}

double scores_size(const struct scores *s)
{
    return fmax(1e-3, fmax(fabs(s->lowest), fabs(s->highest)));
}

enum status scores_scaled(struct gpt *copy, const struct gpt *g, double factor, struct error *err)
{
    *copy = *g;
    copy->params = malloc(g->table.size * sizeof *copy->params);
    if (!copy->params)
        return fail(err, STATUS_MEMORY, "check: memory for a second set of parameters was refused");
    memcpy(copy->params, g->params, g->table.size * sizeof *copy->params);
    for (size_t layer = 0; layer < g->config.n_layer; layer++) {
        struct params_view view[6];
        const size_t views = params_views(view, &g->table, layer);
        for (size_t k = 0; k < views; k++) {
            const struct params_tensor *t = &g->table.tensor[view[k].tensor];
            if (strcmp(view[k].name + 1, "_Q") != 0 && strcmp(view[k].name + 1, "_K") != 0)
                continue;
            for (size_t row = 0; row < t->rows; row++)
                for (size_t col = view[k].begin; col < view[k].begin + view[k].cols; col++)
                    copy->params[t->offset + row * t->cols + col] *= (real)factor;
        }
    }
    return STATUS_OK;
}

void scores_free(struct gpt *copy)
{
    free(copy->params);
    copy->params = NULL;
}
