#include "model/gpt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/crossentropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/layernorm.h"
#include "kernels/linear.h"
#include "model/block.h"

const struct gpt_pass gpt_evaluating = {.training = false};
const struct gpt_pass gpt_quiet = {.training = false, .quiet = true};
const struct gpt_pass gpt_textbook = {.training = false, .textbook = true};

enum status gpt_create(struct gpt *g, const struct config *c, struct error *err)
{
    *g = (struct gpt){0};
    enum status s = config_check(c, err);
    if (s)
        return s;
    g->config = *c;
    s = params_table_make(&g->table, c, err);
    if (s)
        return s;
    const size_t heads = c->n_layer * c->n_head;
    g->params = calloc(g->table.size, sizeof *g->params);
    g->rules = malloc(heads * sizeof *g->rules);
    if (!g->params || !g->rules) {
        const size_t size = g->table.size;
        gpt_free(g);
        return fail(err, STATUS_MEMORY, "%zu parameters (%.1f MB) were refused memory: choose a smaller model", size,
                    (double)size * sizeof(real) / 1e6);
    }
    for (size_t i = 0; i < heads; i++)
        g->rules[i] = c->trained;
    return STATUS_OK;
}

void gpt_free(struct gpt *g)
{
    params_table_free(&g->table);
    free(g->params);
    free(g->rules);
    *g = (struct gpt){0};
}

/* The numbers of one tensor, NULL when it is absent or values are. */
static real *tensor(const struct gpt *g, real *values, enum params_kind kind)
{
    const struct params_tensor *p = params_find(&g->table, kind, 0);
    return values && p && p->present ? values + p->offset : NULL;
}

static enum params_kind head_kind(const struct gpt *g)
{
    return g->config.tied ? PARAMS_TOKEN_EMBEDDING : PARAMS_HEAD;
}

/* w NULL: in fp32, whatever the model's precision. */
static struct linear_weight head_weight(const struct gpt *g, const struct work *w)
{
    return (struct linear_weight){.room = w ? work_room(w, g->config.precision) : NULL,
                                  .packed = w ? w->packed_head : NULL,
                                  .values = tensor(g, g->params, head_kind(g)),
                                  .in = g->config.n_embd,
                                  .out = g->config.vocab_size,
                                  .transposed = true};
}

static struct dropout embedding_dropout(const struct gpt *g, const struct gpt_pass *pass)
{
    return (struct dropout){
        .p = pass->training ? g->config.dropout : 0,
        .site = {.seed = pass->seed, .purpose = RNG_DROP_EMBEDDING, .step = pass->step},
        .first_row = pass->first_row,
    };
}

/* Tokens to hidden state. caches (L), after which only the last position of each row is left, or NULL. */
static void trunk_forward(const struct lane *lane, const struct gpt *g, struct work *w, const uint32_t *tokens,
                          size_t B, size_t T, const struct gpt_pass *pass, const struct block_cache *caches)
{
    const struct config *c = &g->config;
    const size_t C = c->n_embd;
    embedding_forward(lane, w->embedded, tokens, tensor(g, g->params, PARAMS_TOKEN_EMBEDDING),
                      tensor(g, g->params, PARAMS_POSITION_EMBEDDING), caches ? caches->past : 0, B, T, C);
    const struct dropout drop = embedding_dropout(g, pass);
    dropout_apply(lane, w->embedded, &drop, B, T, C);
    fault_mix(lane, g->fault, FAULT_EMBEDDINGS, 0, w->embedded, B, T, C, false);
    laps_take(lane, w->laps, LAPS_EMBEDDING, LAPS_FORWARD);
    const real *x = w->embedded;
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        const bool last = layer + 1 == c->n_layer;
        const struct block_pass p = {g, layer, B, T, pass, caches ? &caches[layer] : NULL, caches && T > 1 && last};
        block_forward(lane, x, &w->block[layer], w, &p);
        x = w->block[layer].out;
    }
    const size_t results = caches ? 1 : T;
    layernorm_forward(lane, w->lnf, w->lnf_mean, w->lnf_rstd, x, tensor(g, g->params, PARAMS_LNF_GAIN),
                      tensor(g, g->params, PARAMS_LNF_BIAS), c->norm_epsilon, B * results, C);
    fault_mix(lane, g->fault, FAULT_LNF, 0, w->lnf, B, results, C, false);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_FORWARD);
}

/* From the gradient of the hidden state in w->dln to the embeddings. */
static void trunk_backward(const struct lane *lane, const struct gpt *g, struct work *w, const uint32_t *tokens,
                           size_t B, size_t T, const struct gpt_pass *pass, real *grads)
{
    const struct config *c = &g->config;
    const size_t N = B * T, C = c->n_embd;
    const real *x = w->block[c->n_layer - 1].out;
    fault_mix(lane, g->fault, FAULT_LNF, 0, w->dln, B, T, C, true);
    laps_barrier(lane, w->laps);
    /* forward: hidden = LN_f(x) */
    if (grads)
        layernorm_backward_weight(lane, tensor(g, grads, PARAMS_LNF_GAIN), tensor(g, grads, PARAMS_LNF_BIAS), w->dln, x,
                                  w->lnf_mean, w->lnf_rstd, N, C);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_WEIGHT);
    const struct span s = lane_span(lane, N, 1);
    memset(w->dres + s.begin * C, 0, (s.end - s.begin) * C * sizeof(real));
    layernorm_backward_input(lane, w->dres, w->dln, x, w->lnf_mean, w->lnf_rstd, tensor(g, g->params, PARAMS_LNF_GAIN),
                             N, C);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_INPUT);
    for (size_t layer = c->n_layer; layer-- > 0;) {
        x = layer > 0 ? w->block[layer - 1].out : w->embedded;
        const struct block_pass p = {g, layer, B, T, pass, NULL, false};
        block_backward(lane, x, &w->block[layer], w, grads, &p);
    }
    fault_mix(lane, g->fault, FAULT_EMBEDDINGS, 0, w->dres, B, T, C, true);
    const struct dropout drop = embedding_dropout(g, pass);
    dropout_apply(lane, w->dres, &drop, B, T, C); /* forward: embedded = drop(token[...] + position[...]) */
    laps_take(lane, w->laps, LAPS_EMBEDDING, LAPS_INPUT);
    laps_barrier(lane, w->laps);
    if (grads)
        embedding_backward(lane, tensor(g, grads, PARAMS_TOKEN_EMBEDDING), tensor(g, grads, PARAMS_POSITION_EMBEDDING),
                           w->dres, tokens, B, T, C);
    laps_take(lane, w->laps, LAPS_EMBEDDING, LAPS_WEIGHT);
}

void gpt_logits_cached(const struct lane *lane, const struct gpt *g, struct work *w, const uint32_t *tokens, size_t B,
                       size_t T, const struct block_cache *caches)
{
    assert(T > 0 && T <= w->T && B * T <= w->B * w->T && (B == 1 || T == 1));
    assert(caches->past + T <= g->config.block_size);
    trunk_forward(lane, g, w, tokens, B, T, &gpt_quiet, caches);
    struct linear_weight head = head_weight(g, NULL);
    head.share_columns = true;
    laps_barrier(lane, w->laps);
    linear_forward(lane, w->logits, w->lnf, &head, NULL, B);
}

/* What a team's lanes share during one of the calls below. */
struct call {
    const struct gpt *g;
    struct work *w;
    const uint32_t *tokens, *targets;
    size_t B, T;
    const struct gpt_pass *pass;
    real *grads;
    real scale;
};

static void check_call(const struct work *w, size_t B, size_t T)
{
    assert(B > 0 && B <= w->B && T > 0 && T <= w->T);
}

static void forward_lane(const struct lane *lane, void *context)
{
    const struct call *c = context;
    const struct linear_weight head = head_weight(c->g, c->w);
    laps_take(lane, c->w->laps, LAPS_WAIT, LAPS_FORWARD);
    linear_pack(lane, &head, LINEAR_FORWARD); /* the blocks have barriers */
    laps_take(lane, c->w->laps, LAPS_PACK, LAPS_FORWARD);
    trunk_forward(lane, c->g, c->w, c->tokens, c->B, c->T, c->pass, NULL);
    linear_forward(lane, c->w->logits, c->w->lnf, &head, NULL, c->B * c->T);
    laps_take(lane, c->w->laps, LAPS_HEAD, LAPS_FORWARD);
}

void gpt_forward(const struct gpt *g, struct work *w, const uint32_t *tokens, size_t B, size_t T,
                 const struct gpt_pass *pass)
{
    check_call(w, B, T);
    struct call c = {.g = g, .w = w, .tokens = tokens, .B = B, .T = T, .pass = pass};
    team_run(w->team, forward_lane, &c);
}

static void loss_lane(const struct lane *lane, void *context)
{
    const struct call *c = context;
    laps_take(lane, c->w->laps, LAPS_WAIT, LAPS_FORWARD);
    crossentropy_forward(lane, c->w->loss, c->w->logits, c->targets, c->B * c->T, c->g->config.vocab_size);
    laps_take(lane, c->w->laps, LAPS_LOSS, LAPS_FORWARD);
}

void gpt_loss(const struct gpt *g, struct work *w, const uint32_t *targets, size_t B, size_t T)
{
    check_call(w, B, T);
    struct call c = {.g = g, .w = w, .targets = targets, .B = B, .T = T};
    team_run(w->team, loss_lane, &c);
}

static void loss_backward_lane(const struct lane *lane, void *context)
{
    const struct call *c = context;
    laps_take(lane, c->w->laps, LAPS_WAIT, LAPS_FORWARD);
    crossentropy_backward(lane, c->w->logits, c->targets, c->scale, c->B * c->T, c->g->config.vocab_size);
    laps_take(lane, c->w->laps, LAPS_LOSS, LAPS_INPUT);
}

void gpt_loss_backward(const struct gpt *g, struct work *w, const uint32_t *targets, real scale, size_t B, size_t T)
{
    check_call(w, B, T);
    struct call c = {.g = g, .w = w, .targets = targets, .B = B, .T = T, .scale = scale};
    team_run(w->team, loss_backward_lane, &c);
}

static void backward_lane(const struct lane *lane, void *context)
{
    const struct call *c = context;
    const struct linear_weight head = head_weight(c->g, c->w);
    const size_t N = c->B * c->T;
    laps_take(lane, c->w->laps, LAPS_WAIT, LAPS_FORWARD);
    if (head.room) {
        linear_pack(lane, &head, LINEAR_BACKWARD);
        laps_take(lane, c->w->laps, LAPS_PACK, LAPS_INPUT);
        laps_barrier(lane, c->w->laps);
    }
    /* forward: logits = hidden W_head^T */
    if (c->grads)
        linear_backward_weight(lane, tensor(c->g, c->grads, head_kind(c->g)), NULL, c->w->lnf, c->w->logits, &head, N);
    laps_take(lane, c->w->laps, LAPS_HEAD, LAPS_WEIGHT);
    linear_backward_input(lane, c->w->dln, c->w->logits, &head, N);
    laps_take(lane, c->w->laps, LAPS_HEAD, LAPS_INPUT);
    trunk_backward(lane, c->g, c->w, c->tokens, c->B, c->T, c->pass, c->grads);
}

void gpt_backward(const struct gpt *g, struct work *w, const uint32_t *tokens, size_t B, size_t T,
                  const struct gpt_pass *pass, real *grads)
{
    check_call(w, B, T);
    assert(w->training);
    struct call c = {.g = g, .w = w, .tokens = tokens, .B = B, .T = T, .pass = pass, .grads = grads};
    team_run(w->team, backward_lane, &c);
}

void gpt_attention_summary(double *entropy, double *max_score, const struct gpt *g, const struct work *w, size_t B,
                           size_t T)
{
    assert(w->training);
    const struct config *c = &g->config;
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        const size_t first = layer * c->n_head;
        const struct attention_shape shape = {.B = B,
                                              .H = c->n_head,
                                              .H_kv = c->n_head,
                                              .hs = c->head_size,
                                              .T_q = T,
                                              .T_k = T,
                                              .rules = g->rules + first,
                                              .window = c->window,
                                              .tile = g->attention_tile,
                                              .fault = fault_attention(g->fault, layer, false, true, false),
                                              .fault_head = g->fault ? g->fault->head : 0};
        attention_shape_summary(entropy + first, max_score + first, &w->block[layer].rows, &shape);
    }
}

double gpt_mean_loss(const struct work *w, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)w->loss[i];
    return sum / (double)n;
}
