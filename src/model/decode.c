#include "model/decode.h"

#include <assert.h>
#include <string.h>

static void layout(struct decode *d)
{
    const struct config *c = &d->model->config;
    d->cache = arena_take(&d->arena, c->n_layer, sizeof *d->cache);
    d->window = arena_take(&d->arena, c->block_size, sizeof *d->window);
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        real *k = arena_take(&d->arena, c->block_size * c->n_embd, sizeof *k);
        real *v = arena_take(&d->arena, c->block_size * c->n_embd, sizeof *v);
        if (d->cache)
            d->cache[layer] = (struct block_cache){.k = k, .v = v};
    }
}

enum status decode_create(struct decode *d, const struct gpt *model, struct team team, struct error *err)
{
    *d = (struct decode){.model = model};
    for (size_t i = 0; i < model->config.n_layer * model->config.n_head; i++)
        d->recompute |= model->rules[i] == ATTENTION_FULL;
    struct config c = model->config;
    c.precision = PRECISION_FP32; /* a cache is filled and read in fp32 */
    enum status s = work_create(&d->work, &c, 1, c.block_size, false, team, err);
    if (s)
        return s;
    if (model->fault)
        s = work_keep_weights(&d->work, &model->config, err);
    if (s) {
        decode_free(d);
        return s;
    }
    layout(d);
    s = arena_place(&d->arena, err);
    if (s) {
        decode_free(d);
        return s;
    }
    layout(d);
    return STATUS_OK;
}

void decode_free(struct decode *d)
{
    work_free(&d->work);
    arena_free(&d->arena);
    *d = (struct decode){0};
}

static void set_past(struct decode *d, size_t past)
{
    for (size_t layer = 0; layer < d->model->config.n_layer; layer++)
        d->cache[layer].past = past;
}

static bool suffers(const struct decode *d, enum fault_decode fault)
{
    return d->model->fault && d->model->fault->decode == fault;
}

void decode_reset(struct decode *d)
{
    if (suffers(d, FAULT_CACHE_NOT_RESET))
        return;
    d->length = 0;
    set_past(d, 0);
}

struct call {
    struct decode *d;
    size_t past, n;
};

static void append_lane(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct decode *d = call->d;
    const size_t C = d->model->config.n_embd;
    gpt_trunk_cached(lane, d->model, &d->work, d->window + call->past, call->n, d->cache);
    lane_barrier(lane); /* the last row is another lane's */
    const struct lane alone = {0, 1, NULL, lane->isa};
    if (lane->index == 0)
        gpt_head(&alone, d->model, d->work.logits, d->work.lnf + (call->n - 1) * C, 1);
}

const real *decode_append(struct decode *d, const uint32_t *tokens, size_t n)
{
    const size_t capacity = d->model->config.block_size;
    assert(n > 0);
    if (n > capacity) {
        tokens += n - capacity;
        n = capacity;
    }
    size_t past = d->length;
    if (d->length + n > capacity) {
        const size_t kept = capacity - n;
        memmove(d->window, d->window + (d->length - kept), kept * sizeof *d->window);
        d->length = kept;
        past = suffers(d, FAULT_CACHE_NOT_REFILLED) ? kept : 0;
    }
    memcpy(d->window + d->length, tokens, n * sizeof *tokens);
    d->length += n;
    if (d->recompute)
        past = 0;
    set_past(d, past);
    struct call call = {d, past, d->length - past};
    /* A row or two is not worth waking a team for. */
    const struct team few = {.threads = 1, .isa = d->work.team.isa};
    team_run(call.n < 16 ? few : d->work.team, append_lane, &call);
    return d->work.logits;
}
