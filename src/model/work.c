#include "model/work.h"

#include <assert.h>

#include "base/checked.h"
#include "base/team.h"
#include "kernels/attention_ref.h"

/* product of up to four sizes, or an overflow that the arena reports */
static real *take(struct arena *a, size_t n, size_t m, size_t k, size_t l)
{
    size_t count;
    if (!checked_mul(&count, n, m) || !checked_mul(&count, count, k) || !checked_mul(&count, count, l)) {
        a->overflow = true;
        return NULL;
    }
    return arena_take(a, count, sizeof(real));
}

static void place_block(struct block_acts *b, const struct config *c, size_t B, size_t T, bool training,
                        struct arena *a)
{
    const size_t C = c->n_embd, H = c->n_head;
    b->ln1 = take(a, B, T, C, 1);
    b->ln1_mean = take(a, B, T, 1, 1);
    b->ln1_rstd = take(a, B, T, 1, 1);
    b->qkv = take(a, B, T, C, 3);
    b->rows.lse = take(a, B, H, T, 1);
    b->rows.entropy = take(a, B, H, T, 1);
    b->rows.max_score = take(a, B, H, T, 1);
    b->kept.max = training ? take(a, B, H, T, 1) : NULL;
    b->kept.share = training ? take(a, B, H, T, 1) : NULL;
    b->att = take(a, B, T, C, 1);
    b->mid = take(a, B, T, C, 1);
    b->ln2 = take(a, B, T, C, 1);
    b->ln2_mean = take(a, B, T, 1, 1);
    b->ln2_rstd = take(a, B, T, 1, 1);
    b->fc = take(a, B, T, C, 4);
    b->gelu = take(a, B, T, C, 4);
    b->out = take(a, B, T, C, 1);
}

static uint32_t *take_packed(struct arena *a, size_t in, size_t out)
{
    return arena_take(a, linear_packed_words(in, out), sizeof(uint32_t));
}

static void place_bf16(struct work *w, const struct config *c, struct arena *a)
{
    const size_t C = c->n_embd, V = c->vocab_size, widest = V > 4 * C ? V : 4 * C;
    size_t shared;
    linear_room_sizes(&w->room.lane_words, &shared, w->B * w->T, widest, 4 * C);
    a->overflow |= shared == 0;
    w->room.lanes = arena_take(a, (size_t)w->team.threads * w->room.lane_words, sizeof *w->room.lanes);
    w->room.shared = arena_take(a, shared, sizeof *w->room.shared);
    for (size_t k = 0; k < 2; k++)
        w->packed[k] = (struct block_packed){take_packed(a, C, 3 * C), take_packed(a, C, C), take_packed(a, C, 4 * C),
                                             take_packed(a, 4 * C, C)};
    w->packed_head = take_packed(a, C, V);
}

static struct attention_shape attention_of(const struct config *c, size_t B, size_t T)
{
    return (struct attention_shape){.B = B,
                                    .H = c->n_head,
                                    .H_kv = c->n_head,
                                    .hs = c->head_size,
                                    .T_q = T,
                                    .T_k = T,
                                    .bf16 = c->precision == PRECISION_BF16};
}

/* Runs twice: on a measuring arena, then on the placed one. */
static void layout(struct work *w, const struct config *c)
{
    struct arena *a = &w->arena;
    const size_t B = w->B, T = w->T, C = c->n_embd;
    w->block = arena_take(a, c->n_layer, sizeof *w->block);
    w->embedded = take(a, B, T, C, 1);
    struct block_acts acts = {0};
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        if (layer == 0 || w->training)
            place_block(&acts, c, B, T, w->training, a);
        if (w->block)
            w->block[layer] = acts;
    }
    w->branch = take(a, B, T, C, 1);
    w->lnf = take(a, B, T, C, 1);
    w->lnf_mean = take(a, B, T, 1, 1);
    w->lnf_rstd = take(a, B, T, 1, 1);
    w->logits = take(a, B, T, c->vocab_size, 1);
    w->loss = take(a, B, T, 1, 1);
    const struct attention_shape shape = attention_of(c, B, T);
    w->scratch = take(a, attention_scratch(&shape, w->team.threads), 1, 1, 1);
    if (c->precision == PRECISION_BF16)
        place_bf16(w, c, a);
    if (w->training) {
        w->dres = take(a, B, T, C, 1);
        w->dbranch = take(a, B, T, C, 1);
        w->dln = take(a, B, T, C, 1);
        w->dqkv = take(a, B, T, C, 3);
        w->dfc = take(a, B, T, C, 4);
    }
}

static struct work measured(const struct config *c, size_t B, size_t T, bool training, struct team team)
{
    assert(B > 0 && T > 0 && T <= c->block_size && team.threads > 0);
    struct work w = {.B = B, .T = T, .team = team, .training = training};
    size_t rows; /* attention_scratch itself must not overflow */
    if (!checked_mul(&rows, B, T) || !checked_mul(&rows, rows, c->n_embd) || !checked_mul(&rows, rows, sizeof(real)))
        w.arena.overflow = true;
    else
        layout(&w, c);
    return w;
}

enum status work_measure(size_t *bytes, const struct config *c, size_t B, size_t T, bool training, struct team team,
                         struct error *err)
{
    const struct work w = measured(c, B, T, training, team);
    if (w.arena.overflow)
        return fail(err, STATUS_RANGE,
                    "a batch of %zu times %zu symbols overflows this machine's addresses: choose "
                    "a smaller batch or context",
                    B, T);
    *bytes = w.arena.used;
    return STATUS_OK;
}

enum status work_create(struct work *w, const struct config *c, size_t B, size_t T, bool training, struct team team,
                        struct error *err)
{
    *w = measured(c, B, T, training, team);
    const enum status s = arena_place(&w->arena, err);
    if (s) {
        *w = (struct work){0};
        return s;
    }
    layout(w, c);
    return STATUS_OK;
}

const struct linear_room *work_room(const struct work *w, enum precision precision)
{
    assert(precision == PRECISION_FP32 || w->room.lanes);
    return precision == PRECISION_BF16 ? &w->room : NULL;
}

/* Runs twice, like layout. */
static void layout_weights(struct work *w, const struct config *c)
{
    struct arena *a = &w->weights;
    const struct attention_shape shape = attention_of(c, w->B, w->T);
    w->ref_scratch = take(a, (size_t)w->team.threads, attention_ref_scratch(&shape), 1, 1);
    real *weights = NULL;
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        if (layer == 0 || w->training)
            weights = take(a, w->B, c->n_head, w->T, w->T);
        w->block[layer].weights = weights;
    }
}

enum status work_keep_weights(struct work *w, const struct config *c, struct error *err)
{
    if (w->ref_scratch)
        return STATUS_OK;
    size_t scores; /* attention_ref_scratch itself must not overflow */
    if (!checked_mul(&scores, w->T, w->T) || !checked_mul(&scores, scores, 2 * sizeof(real)))
        w->weights.overflow = true;
    else
        layout_weights(w, c);
    const enum status s = arena_place(&w->weights, err);
    if (s) {
        w->weights = (struct arena){0};
        return s;
    }
    layout_weights(w, c);
    return STATUS_OK;
}

void work_free(struct work *w)
{
    arena_free(&w->weights);
    arena_free(&w->arena);
    *w = (struct work){0};
}
