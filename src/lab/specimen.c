#include "lab/specimen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/attention_tile.h"
#include "lab/drill.h"
#include "text/bank.h"
#include "text/corpus.h"

#define TRAINING_STEPS 60

enum status specimen_text_make(struct specimen_text *t, uint64_t seed, size_t size, struct error *err)
{
    struct grammar g;
    struct corpus c;
    *t = (struct specimen_text){0};
    enum status s = grammar_make(&g, &bank_source, err);
    if (s)
        return s;
    s = corpus_make(&c, &g, seed, size, err);
    if (!s) {
        const uint8_t *bytes = (const uint8_t *)c.text;
        uint32_t *ids = NULL;
        size_t count = 0;
        s = tokenizer_make_chars(&t->tokenizer, bytes, c.count, "corpus", err);
        if (!s)
            s = tokenizer_encode(&t->tokenizer, &ids, &count, bytes, c.count, "corpus", err);
        t->data = (struct dataset){.ids = ids, .width = 4, .count = count, .train = count - count / 10};
        corpus_free(&c);
    }
    grammar_free(&g);
    if (s)
        specimen_text_free(t);
    return s;
}

void specimen_text_free(struct specimen_text *t)
{
    dataset_free(&t->data);
    tokenizer_free(&t->tokenizer);
}

/* Draws, one after another. */
struct draws {
    struct rng_site site;
    uint32_t position;
};

static size_t below(struct draws *d, size_t n)
{
    return (size_t)rng_below(&d->site, d->position++, n);
}

static size_t one_of(struct draws *d, const size_t *values, size_t n)
{
    return values[below(d, n)];
}
#define ONE_OF(draws, ...)                                                                                             \
    one_of((draws), (const size_t[]){__VA_ARGS__}, sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

static size_t at_least(size_t value, size_t least)
{
    return value > least ? value : least;
}

/* Every number is of a size that matters. */
static void roughen(struct gpt *g, struct draws *d)
{
    struct rng_site site = d->site;
    for (size_t i = 0; i < g->table.count; i++) {
        const struct params_tensor *p = &g->table.tensor[i];
        if (!p->present)
            continue;
        site.layer = (uint32_t)i;
        site.head = 1;
        const double mean = p->role == PARAMS_ROLE_GAIN, sigma = p->role == PARAMS_ROLE_MATRIX
                                                                     ? 1 / sqrt((double)p->rows)
                                                                 : p->role == PARAMS_ROLE_EMBEDDING ? 0.7
                                                                                                    : 0.3;
        for (size_t k = 0; k < p->rows * p->cols; k++)
            g->params[p->offset + k] = (real)(mean + sigma * rng_normal(&site, (uint32_t)k));
    }
}

/* Scores of all heads `factor` times as large. */
static void sharpen(struct gpt *g, double factor)
{
    const size_t C = g->config.n_embd;
    for (size_t layer = 0; layer < g->config.n_layer; layer++) {
        const struct params_tensor *p = params_find(&g->table, PARAMS_QKV, layer);
        for (size_t row = 0; row < C; row++)
            for (size_t col = 0; col < C; col++)
                g->params[p->offset + row * 3 * C + col] *= (real)factor;
    }
}

static struct config draw_config(const struct specimen_need *need, size_t vocab_size, struct draws *d)
{
    const size_t L = at_least(1 + below(d, 3), need->least_layers), H = 1 + below(d, 4),
                 hs = at_least(need->trained ? 4 + below(d, 5) : 1 + below(d, 8), need->least_head_size);
    const size_t T = at_least(
        need->trained ? ONE_OF(d, 9, 16, 17, 31) : ONE_OF(d, 1, 2, 3, 5, 7, 8, 15, 16, 17, 33, 41), need->least_length);
    struct config c = config_make(L, H, H * hs, T, vocab_size);
    c.bias = below(d, 2);
    c.tied = below(d, 2);
    c.dropout = need->dropout || below(d, 2) ? (below(d, 2) ? 0.1 : 0.5) : 0;
    return c;
}

/* A text of random symbols, so short that it stays small. */
static enum status draw_text(struct specimen *s, size_t V, size_t T, struct draws *d, struct error *err)
{
    const size_t n = 40 * (T + 1);
    uint32_t *ids = malloc(n * sizeof *ids);
    if (!ids)
        return fail(err, STATUS_MEMORY, "a text of %zu symbols was refused memory", n);
    for (size_t k = 0; k < n; k++)
        ids[k] = (uint32_t)below(d, V);
    s->symbols = ids;
    s->data = (struct dataset){.ids = ids, .width = 4, .count = n, .train = n - n / 10};
    return STATUS_OK;
}

static enum status draw_weights(struct specimen *s, const struct specimen_need *need, uint64_t seed, struct draws *d,
                                struct error *err)
{
    params_init(s->model.params, &s->model.table, &s->model.config, seed);
    if (need->trained) {
        struct drill drill = {.g = &s->model, .w = &s->work, .data = &s->data, .lr = 3e-3, .seed = seed};
        return drill_run(&drill, TRAINING_STEPS, err);
    }
    const size_t kind = below(d, 3);
    if (kind > 0)
        roughen(&s->model, d);
    if (kind == 2)
        sharpen(&s->model, pow(10, (double)below(d, 5)));
    return STATUS_OK;
}

enum status specimen_make(struct specimen *s, const struct specimen_need *need, const struct specimen_text *text,
                          uint64_t seed, struct team most, struct error *err)
{
    struct draws d = {.site = {.seed = seed, .purpose = RNG_CHECK, .head = 20}},
                 kernel = {.site = {.seed = seed, .purpose = RNG_CHECK, .head = 24}};
    *s = (struct specimen){0};
    const size_t V = need->trained ? text->tokenizer.size : ONE_OF(&d, 2, 3, 7, 30, 65);
    /* of small tiles even short texts have several */
    const size_t tile = ONE_OF(&kernel, 0, 0, 3, 5, 8, 16), past = tile ? tile + 1 : ATTENTION_TILE_SHORT + 1;
    struct specimen_need longer = *need;
    longer.least_length = at_least(need->least_length, need->crosses ? past : 1);
    struct config c = draw_config(&longer, V, &d);
    const bool window = below(&kernel, 4) == 0 || need->window;
    if (window && c.block_size > 1) {
        c.window = 1 + below(&kernel, c.block_size - 1);
        c.declared = c.trained = ATTENTION_WINDOW;
    }
    const size_t B = at_least(need->trained ? 4 : 1 + below(&d, 4), need->least_batch);
    struct team team = most;
    team.threads = below(&d, 8) == 0 && most.threads > 1 ? 2 : 1;
    team.isa = (enum isa)below(&d, (size_t)most.isa + 1);
    c.precision = below(&d, 4) == 0 ? PRECISION_BF16 : PRECISION_FP32;
    enum status status = gpt_create(&s->model, &c, err);
    if (!status)
        status = work_create(&s->work, &c, B, c.block_size, true, team, err);
    s->model.attention_tile = tile;
    if (!status)
        status = work_keep_weights(&s->work, &c, err); /* faults will be planted */
    if (need->trained) {
        s->data = text->data;
        s->tokenizer = &text->tokenizer;
    } else if (!status) {
        status = draw_text(s, V, c.block_size, &d, err);
    }
    if (!status)
        status = draw_weights(s, need, seed, &d, err);
    snprintf(s->words, sizeof s->words,
             "seed %llu: L %zu H %zu C %zu T %zu V %zu B %zu window %zu tile %zu dropout %g %s%s%s",
             (unsigned long long)seed, c.n_layer, c.n_head, c.n_embd, c.block_size, V, B, c.window, tile, c.dropout,
             isa_name(team.isa), c.precision == PRECISION_BF16 ? " bf16" : "", need->trained ? ", trained" : "");
    if (status)
        specimen_free(s);
    return status;
}

void specimen_free(struct specimen *s)
{
    free(s->symbols);
    work_free(&s->work);
    gpt_free(&s->model);
}
