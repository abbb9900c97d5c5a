#include "diag/attention_map.h"

#include <assert.h>
#include <math.h>

/* In every row: numbers, that sum to 1. */
static enum status check_head(const struct attention_map *m, size_t layer, size_t head, struct error *err)
{
    const real *p = attention_map_weights(m, layer, head);
    for (size_t i = 0; i < m->T; i++) {
        double sum = 0;
        for (size_t j = 0; j < m->T; j++)
            sum += (double)p[i * m->T + j];
        if (!isfinite(sum))
            return fail(err, STATUS_NONFINITE,
                        "layer %zu head %zu: what position %zu looks at is no number: the weights are spoiled, use an "
                        "earlier checkpoint",
                        layer, head, i);
        if (fabs(sum - 1) > ATTENTION_MAP_TOLERANCE)
            return fail(err, STATUS_RANGE,
                        "layer %zu head %zu: the attention weights of position %zu sum to %.9g, expected 1: its "
                        "softmax is at fault",
                        layer, head, i, sum);
    }
    return STATUS_OK;
}

static enum status check_all(const struct attention_map *m, struct error *err)
{
    const struct config *c = &m->model->config;
    for (size_t k = 0; k < c->n_layer * c->n_head; k++) {
        const enum status s = check_head(m, k / c->n_head, k % c->n_head, err);
        if (s)
            return s;
    }
    return STATUS_OK;
}

enum status attention_map_make(struct attention_map *m, const struct gpt *g, const uint32_t *tokens, size_t T,
                               struct team team, struct error *err)
{
    assert(T > 0 && T <= g->config.block_size);
    *m = (struct attention_map){.model = g, .T = T};
    /* Room for training is room for every layer at once. */
    enum status s = work_create(&m->work, &g->config, 1, T, true, team, err);
    if (s)
        return s;
    s = work_keep_weights(&m->work, &g->config, err);
    if (!s) {
        gpt_forward(g, &m->work, tokens, 1, T, &gpt_textbook);
        s = check_all(m, err);
    }
    if (s)
        attention_map_free(m);
    return s;
}

void attention_map_free(struct attention_map *m)
{
    work_free(&m->work);
    *m = (struct attention_map){0};
}

const real *attention_map_weights(const struct attention_map *m, size_t layer, size_t head)
{
    assert(layer < m->model->config.n_layer && head < m->model->config.n_head);
    return m->work.block[layer].weights + head * m->T * m->T;
}

struct attention_interval attention_map_keys(const struct attention_map *m, size_t layer, size_t head, size_t i)
{
    const struct config *c = &m->model->config;
    return attention_shape_keys(m->model->rules[layer * c->n_head + head], c->window, m->T, m->T, i);
}

double attention_map_entropy(const real *p, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        if (p[j] > 0)
            sum -= (double)p[j] * log((double)p[j]);
    const double most = log((double)n);
    return sum < 0 ? 0 : sum > most ? most : sum; /* rounding only */
}

struct attention_map_head attention_map_head(double *row_entropy, const struct attention_map *m, size_t layer,
                                             size_t head)
{
    const real *p = attention_map_weights(m, layer, head);
    struct attention_map_head r = {0};
    size_t counted = 0;
    for (size_t i = 0; i < m->T; i++) {
        const real *p_i = p + i * m->T;
        double past = 0, future = 0;
        for (size_t j = 0; j <= i; j++)
            past += (double)p_i[j];
        for (size_t j = i + 1; j < m->T; j++)
            future += (double)p_i[j];
        r.future_mass += future / (double)m->T;
        r.row_error = fmax(r.row_error, fabs(past + future - 1));
        const struct attention_interval keys = attention_map_keys(m, layer, head, i);
        const size_t visible = keys.end - keys.begin;
        const double entropy =
            visible > 1 ? attention_map_entropy(p_i + keys.begin, visible) / log((double)visible) : (double)NAN;
        if (visible > 1) {
            r.entropy += entropy;
            counted++;
        }
        if (row_entropy)
            row_entropy[i] = entropy;
    }
    r.entropy = counted ? r.entropy / (double)counted : (double)NAN;
    return r;
}
