#include "model/decode.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"

/* Positions times parameters from which a pass wakes the team. A step has nine barriers a layer: at 10.6 million
 * parameters two lanes take 1.7 ms for it where one takes 2.7. */
#define WORTH_A_TEAM 1e7

/* Runs twice: on a measuring arena, then on the placed one. */
static void layout(struct decode *d)
{
    const struct config *c = &d->model->config;
    const size_t capacity = c->block_size, room = d->room;
    d->cache = arena_take(&d->arena, c->n_layer, sizeof *d->cache);
    d->view = arena_take(&d->arena, c->n_layer, sizeof *d->view);
    size_t positions, reals, logits;
    if (!checked_mul(&positions, room, capacity) || !checked_mul(&reals, positions, c->n_embd) ||
        !checked_mul(&logits, room, c->vocab_size)) {
        d->arena.overflow = true;
        return;
    }
    d->window = arena_take(&d->arena, positions, sizeof *d->window);
    d->logits = arena_take(&d->arena, logits, sizeof *d->logits);
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        real *k = arena_take(&d->arena, reals, sizeof *k);
        real *v = arena_take(&d->arena, reals, sizeof *v);
        if (d->cache)
            d->cache[layer] = (struct block_cache){.k = k, .v = v, .capacity = capacity};
    }
}

enum status decode_create(struct decode *d, const struct gpt *model, size_t rows, struct team team, struct error *err)
{
    assert(rows > 0);
    *d = (struct decode){.model = model, .room = rows, .rows = 1};
    for (size_t i = 0; i < model->config.n_layer * model->config.n_head; i++)
        d->recompute |= model->rules[i] == ATTENTION_FULL;
    struct config c = model->config;
    c.precision = PRECISION_FP32; /* a cache is filled and read in fp32 */
    /* Room for a whole window of one row, and for one symbol of each. */
    const size_t windows = rows / c.block_size + (rows % c.block_size != 0);
    enum status s = work_create(&d->work, &c, windows, c.block_size, false, team, err);
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

static bool suffers(const struct decode *d, enum fault_decode fault)
{
    return d->model->fault && d->model->fault->decode == fault;
}

void decode_reset(struct decode *d)
{
    d->rows = 1;
    if (!suffers(d, FAULT_CACHE_NOT_RESET))
        d->length = 0;
}

/* One pass: T new tokens of each of B rows, the first of which is `row`. */
struct call {
    struct decode *d;
    const uint32_t *tokens;
    size_t B, T;
};

static void pass_lane(const struct lane *lane, void *context)
{
    const struct call *call = context;
    gpt_logits_cached(lane, call->d->model, &call->d->work, call->tokens, call->B, call->T, call->d->view);
}

/* Leaves logits (B,V) in d->work. */
static void pass(struct decode *d, const uint32_t *tokens, size_t row, size_t B, size_t T, size_t past)
{
    const size_t C = d->model->config.n_embd;
    for (size_t layer = 0; layer < d->model->config.n_layer; layer++) {
        const size_t first = row * d->cache[layer].capacity * C;
        d->view[layer] = d->cache[layer];
        d->view[layer].k += first;
        d->view[layer].v += first;
        d->view[layer].past = past;
    }
    struct call call = {d, tokens, B, T};
    const struct team alone = {.threads = 1, .isa = d->work.team.isa};
    team_run((double)(B * T) * (double)d->model->table.size < WORTH_A_TEAM ? alone : d->work.team, pass_lane, &call);
}

/* Makes room for n symbols at the end of every window. Returns how many positions the cache holds of what is left. */
static size_t slide(struct decode *d, size_t n)
{
    const size_t capacity = d->model->config.block_size;
    size_t past = d->length;
    if (d->length + n > capacity) {
        const size_t kept = capacity - n;
        for (size_t row = 0; row < d->rows; row++) {
            uint32_t *window = d->window + row * capacity;
            memmove(window, window + (d->length - kept), kept * sizeof *window);
        }
        d->length = kept;
        past = suffers(d, FAULT_CACHE_NOT_REFILLED) ? kept : 0;
    }
    return d->recompute ? 0 : past;
}

const real *decode_append(struct decode *d, const uint32_t *tokens, size_t n)
{
    const size_t capacity = d->model->config.block_size;
    assert(n > 0 && d->rows == 1);
    if (n > capacity) {
        tokens += n - capacity;
        n = capacity;
    }
    const size_t past = slide(d, n);
    memcpy(d->window + d->length, tokens, n * sizeof *tokens);
    d->length += n;
    pass(d, d->window + past, 0, 1, d->length - past, past);
    return d->work.logits;
}

static void copy_row(struct decode *d, size_t to, size_t from)
{
    const size_t capacity = d->model->config.block_size, C = d->model->config.n_embd;
    memcpy(d->window + to * capacity, d->window + from * capacity, d->length * sizeof *d->window);
    for (size_t layer = 0; layer < d->model->config.n_layer; layer++) {
        const struct block_cache *cache = &d->cache[layer];
        memcpy(cache->k + to * capacity * C, cache->k + from * capacity * C, d->length * C * sizeof *cache->k);
        memcpy(cache->v + to * capacity * C, cache->v + from * capacity * C, d->length * C * sizeof *cache->v);
    }
}

void decode_fork(struct decode *d, size_t rows)
{
    assert(d->rows == 1 && rows > 0 && rows <= d->room);
    d->rows = rows;
    for (size_t row = 1; row < rows; row++)
        copy_row(d, row, 0);
}

void decode_drop(struct decode *d, size_t row)
{
    assert(row < d->rows && d->rows > 1);
    d->rows--;
    if (row < d->rows)
        copy_row(d, row, d->rows);
}

const real *decode_step(struct decode *d, const uint32_t *tokens)
{
    const size_t capacity = d->model->config.block_size, V = d->model->config.vocab_size;
    const size_t past = slide(d, 1);
    for (size_t row = 0; row < d->rows; row++)
        d->window[row * capacity + d->length] = tokens[row];
    d->length++;
    if (past + 1 == d->length) {
        pass(d, tokens, 0, d->rows, 1, past);
        return d->work.logits;
    }
    for (size_t row = 0; row < d->rows; row++) {
        pass(d, d->window + row * capacity + past, row, 1, d->length - past, past);
        memcpy(d->logits + row * V, d->work.logits, V * sizeof *d->logits);
    }
    return d->logits;
}
