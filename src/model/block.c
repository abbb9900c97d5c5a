#include "model/block.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/attention.h"
#include "kernels/attention_fault.h"
#include "kernels/attention_ref.h"
#include "kernels/dropout.h"
#include "kernels/gelu.h"
#include "kernels/layernorm.h"
#include "kernels/linear.h"
#include "kernels/residual.h"

struct block_params block_params(const struct params_table *t, real *values, size_t layer)
{
    struct block_params b;
    const struct {
        enum params_kind kind;
        real **place;
    } all[] = {
        {PARAMS_LN1_GAIN, &b.ln1_gain}, {PARAMS_LN1_BIAS, &b.ln1_bias}, {PARAMS_QKV, &b.qkv},
        {PARAMS_QKV_BIAS, &b.qkv_bias}, {PARAMS_PROJ, &b.proj},         {PARAMS_PROJ_BIAS, &b.proj_bias},
        {PARAMS_LN2_GAIN, &b.ln2_gain}, {PARAMS_LN2_BIAS, &b.ln2_bias}, {PARAMS_FC, &b.fc},
        {PARAMS_FC_BIAS, &b.fc_bias},   {PARAMS_FC_OUT, &b.fc_out},     {PARAMS_FC_OUT_BIAS, &b.fc_out_bias},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct params_tensor *p = params_find(t, all[i].kind, layer);
        *all[i].place = values && p->present ? values + p->offset : NULL;
    }
    return b;
}

/* The four matrices of a block. In bf16 they have a place to be packed in; a cache is filled and read in fp32. */
struct block_weights {
    struct linear_weight qkv, proj, fc, fc_out;
};

/* One new position in every row: too few rows to be shared out. */
static bool is_step(const struct block_pass *p)
{
    return p->cache && p->T == 1;
}

size_t block_results(const struct block_pass *p)
{
    return p->last_alone ? 1 : p->T;
}

static struct block_weights weights_of(const struct block_params *b, const struct work *w, const struct block_pass *p)
{
    const size_t C = p->model->config.n_embd;
    const struct linear_room *room = p->cache ? NULL : work_room(w, p->model->config.precision);
    const struct block_packed *packed = &w->packed[p->layer % 2];
    struct block_weights m = {
        .qkv = {.values = b->qkv, .in = C, .out = 3 * C, .room = room, .packed = packed->qkv},
        .proj = {.values = b->proj, .in = C, .out = C, .room = room, .packed = packed->proj},
        .fc = {.values = b->fc, .in = C, .out = 4 * C, .room = room, .packed = packed->fc},
        .fc_out = {.values = b->fc_out, .in = 4 * C, .out = C, .room = room, .packed = packed->fc_out},
    };
    m.qkv.share_columns = m.proj.share_columns = m.fc.share_columns = m.fc_out.share_columns = is_step(p);
    return m;
}

static void pack(const struct lane *lane, const struct block_weights *m, enum linear_pass pass)
{
    linear_pack(lane, &m->qkv, pass);
    linear_pack(lane, &m->proj, pass);
    linear_pack(lane, &m->fc, pass);
    linear_pack(lane, &m->fc_out, pass);
}

static struct dropout dropout_of(const struct block_pass *p, enum rng_purpose purpose)
{
    return (struct dropout){
        .p = p->pass->training ? p->model->config.dropout : 0,
        .site = {.seed = p->pass->seed, .purpose = purpose, .step = p->pass->step, .layer = (uint32_t)p->layer},
        .first_row = p->pass->first_row,
    };
}

/* Queries, keys and values as attention reads them: three views of qkv, or keys and values from the cache. */
static struct attention_shape shape_of(const struct block_pass *p)
{
    const struct config *c = &p->model->config;
    const size_t C = c->n_embd, T_q = block_results(p);
    const size_t T_k = p->cache ? p->cache->past + p->T : p->T, kv = p->cache ? C : 3 * C;
    const size_t kv_batch = (p->cache ? p->cache->capacity : T_k) * kv;
    const double scale = p->model->attention_scale;
    return (struct attention_shape){
        .B = p->B,
        .H = c->n_head,
        .H_kv = c->n_head,
        .hs = c->head_size,
        .T_q = T_q,
        .T_k = T_k,
        .q_batch = T_q * 3 * C,
        .k_batch = kv_batch,
        .v_batch = kv_batch,
        .y_batch = T_q * C,
        .q_stride = 3 * C,
        .k_stride = kv,
        .v_stride = kv,
        .y_stride = C,
        .scale = (real)(scale > 0 ? scale : 1 / sqrt((double)c->head_size)),
        .rules = p->model->rules + p->layer * c->n_head,
        .window = c->window,
        .tile = p->model->attention_tile,
        .bf16 = c->precision == PRECISION_BF16 && !p->cache,
        .fault = fault_attention(p->model->fault, p->layer, p->pass->training && c->dropout > 0, !p->pass->quiet,
                                 p->cache && p->T > 1),
        .fault_head = p->model->fault ? p->model->fault->head : 0,
    };
}

/* Most faults are acted out by the reference attention alone; and the tiled one goes back from what it gave, which must
 * not have been mixed up meanwhile. */
static bool by_textbook(const struct block_pass *p, const struct attention_shape *s, const struct block_acts *a)
{
    const struct fault *f = p->model->fault;
    const bool mixed = f && f->mixing != FAULT_NO_MIXING && f->place == FAULT_ATTENTION;
    const bool wanted =
        mixed || p->pass->textbook || (s->fault != ATTENTION_FAULT_NONE && !attention_fault_is_of_tiles(s->fault));
    assert(!wanted || a->weights); /* work_keep_weights */
    return wanted;
}

/* Appends this lane's rows of new keys and values, which lie side by side `stride` apart, to the cache. */
static void fill_cache(const struct lane *lane, const struct block_pass *p, const real *kv, size_t stride)
{
    const struct block_cache *cache = p->cache;
    const size_t C = p->model->config.n_embd;
    const enum fault_decode fault = p->model->fault ? p->model->fault->decode : FAULT_NO_DECODE;
    const size_t first = cache->past - (fault == FAULT_CACHE_ONE_BACK && cache->past > 0);
    const struct span s = lane_span(lane, p->B * p->T, 1);
    for (size_t n = s.begin; n < s.end; n++) {
        const size_t b = fault == FAULT_CACHE_NEXT_ROW ? (n / p->T + 1) % p->B : n / p->T;
        const size_t at = (b * cache->capacity + first + n % p->T) * C;
        memcpy(cache->k + at, kv + n * stride, C * sizeof(real));
        memcpy(cache->v + at, kv + n * stride + C, C * sizeof(real));
    }
}

/* Where the model has a mistake planted: rows are mixed up here. */
static void mix(const struct lane *lane, const struct block_pass *p, enum fault_place place, real *x, size_t width,
                bool transposed)
{
    fault_mix(lane, p->model->fault, place, p->layer, x, p->B, p->T, width, transposed);
}

/* Between rows and columns in a step: before each product and after it. */
static void step_barrier(const struct lane *lane, const struct block_pass *p, struct laps *laps)
{
    if (is_step(p))
        laps_barrier(lane, laps);
}

/* Attention reads the rows of a whole batch row. Where each lane has whole batch rows to itself those are its own, and
 * nobody need wait. */
static void attention_barrier(const struct lane *lane, const struct block_pass *p, struct laps *laps)
{
    if (is_step(p) || p->B % (size_t)lane->count != 0)
        laps_barrier(lane, laps);
}

/* Queries, keys and values of every position. */
static void project_all(const struct lane *lane, struct block_acts *a, struct work *w, const struct block_params *b,
                        const struct block_weights *m, const struct block_pass *p)
{
    const size_t C = p->model->config.n_embd;
    step_barrier(lane, p, w->laps);
    linear_forward(lane, a->qkv, a->ln1, &m->qkv, b->qkv_bias, p->B * p->T);
    laps_take(lane, w->laps, LAPS_QKV, LAPS_FORWARD);
    /* Rotary or other position codes on q and k would be applied here. */
    step_barrier(lane, p, w->laps);
    if (p->cache)
        fill_cache(lane, p, a->qkv + C, 3 * C);
}

/* The last position's query, and then (T,2C) keys and values of every position. */
static void project_last(const struct lane *lane, struct block_acts *a, const struct block_params *b,
                         const struct block_pass *p)
{
    const size_t C = p->model->config.n_embd;
    const struct linear_weight q = {.values = b->qkv, .in = C, .out = C, .stride = 3 * C, .share_columns = true},
                               kv = {.values = b->qkv + C, .in = C, .out = 2 * C, .stride = 3 * C};
    linear_forward(lane, a->qkv + C, a->ln1, &kv, b->qkv_bias ? b->qkv_bias + C : NULL, p->T);
    fill_cache(lane, p, a->qkv + C, 2 * C);
    lane_barrier(lane);
    linear_forward(lane, a->qkv, a->ln1 + (p->T - 1) * C, &q, b->qkv_bias, 1);
    lane_barrier(lane);
}

/* From what attention gave, a->att, to a->out: its projection and the MLP. */
static void finish(const struct lane *lane, const real *x, struct block_acts *a, struct work *w,
                   const struct block_params *b, const struct block_pass *p)
{
    const struct config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    const struct block_weights m = weights_of(b, w, p);

    mix(lane, p, FAULT_ATTENTION, a->att, C, false);
    linear_forward(lane, w->branch, a->att, &m.proj, b->proj_bias, N);
    laps_take(lane, w->laps, LAPS_PROJ, LAPS_FORWARD);
    step_barrier(lane, p, w->laps);
    const struct dropout drop_residual = dropout_of(p, RNG_DROP_RESIDUAL);
    dropout_apply(lane, w->branch, &drop_residual, p->B, p->T, C);
    residual_forward(lane, a->mid, x, w->branch, N, C);
    laps_take(lane, w->laps, LAPS_RESIDUAL, LAPS_FORWARD);

    layernorm_forward(lane, a->ln2, a->ln2_mean, a->ln2_rstd, a->mid, b->ln2_gain, b->ln2_bias, c->norm_epsilon, N, C);
    mix(lane, p, FAULT_LN2, a->ln2, C, false);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_FORWARD);
    step_barrier(lane, p, w->laps);
    linear_forward(lane, a->fc, a->ln2, &m.fc, b->fc_bias, N);
    laps_take(lane, w->laps, LAPS_FC, LAPS_FORWARD);
    step_barrier(lane, p, w->laps);
    gelu_forward(lane, a->gelu, a->fc, N, 4 * C);
    mix(lane, p, FAULT_GELU, a->gelu, 4 * C, false);
    laps_take(lane, w->laps, LAPS_GELU, LAPS_FORWARD);
    step_barrier(lane, p, w->laps);
    linear_forward(lane, w->branch, a->gelu, &m.fc_out, b->fc_out_bias, N);
    laps_take(lane, w->laps, LAPS_FC_OUT, LAPS_FORWARD);
    step_barrier(lane, p, w->laps);
    const struct dropout drop_mlp = dropout_of(p, RNG_DROP_MLP);
    dropout_apply(lane, w->branch, &drop_mlp, p->B, p->T, C);
    residual_forward(lane, a->out, a->mid, w->branch, N, C);
    laps_take(lane, w->laps, LAPS_RESIDUAL, LAPS_FORWARD);
}

void block_forward(const struct lane *lane, const real *x, struct block_acts *a, struct work *w,
                   const struct block_pass *p)
{
    const struct config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    const struct block_params b = block_params(&p->model->table, p->model->params, p->layer);
    const struct block_weights m = weights_of(&b, w, p);
    assert(!p->cache || p->B == 1 || p->T == 1);
    assert(!p->last_alone || (p->cache && p->T > 1));

    if (m.qkv.room) {
        pack(lane, &m, LINEAR_FORWARD);
        laps_take(lane, w->laps, LAPS_PACK, LAPS_FORWARD);
        laps_barrier(lane, w->laps);
    }
    layernorm_forward(lane, a->ln1, a->ln1_mean, a->ln1_rstd, x, b.ln1_gain, b.ln1_bias, c->norm_epsilon, N, C);
    mix(lane, p, FAULT_LN1, a->ln1, C, false);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_FORWARD);
    if (p->last_alone)
        project_last(lane, a, &b, p);
    else
        project_all(lane, a, w, &b, &m, p);
    attention_barrier(lane, p, w->laps);
    const struct attention_shape shape = shape_of(p);
    const struct dropout drop = dropout_of(p, RNG_DROP_ATTENTION);
    const struct attention_rows *rows = p->pass->quiet ? NULL : &a->rows;
    const real *k = p->cache ? p->cache->k : a->qkv + C, *v = p->cache ? p->cache->v : a->qkv + 2 * C;
    if (by_textbook(p, &shape, a))
        attention_ref_forward(lane, a->att, rows, a->weights, a->qkv, k, v, &shape, &drop, w->ref_scratch);
    else
        attention_forward(lane, a->att, rows, a->kept.max ? &a->kept : NULL, a->qkv, k, v, &shape, &drop, w->scratch);
    laps_take(lane, w->laps, LAPS_ATTENTION, LAPS_FORWARD);
    attention_barrier(lane, p, w->laps);
    if (p->last_alone) { /* from here on it is a step */
        const struct block_pass last = {p->model, p->layer, 1, 1, p->pass, p->cache, false};
        finish(lane, x + (p->T - 1) * C, a, w, &b, &last);
    } else {
        finish(lane, x, a, w, &b, p);
    }
}

/* forward: out = in + drop(branch), so the branch's gradient is the stream's, dropped alike. */
static const real *branch_gradient(const struct lane *lane, struct work *w, const struct dropout *drop,
                                   const struct block_pass *p, size_t C)
{
    if (drop->p == 0)
        return w->dres;
    const struct span s = lane_span(lane, p->B * p->T, 1);
    memcpy(w->dbranch + s.begin * C, w->dres + s.begin * C, (s.end - s.begin) * C * sizeof(real));
    dropout_apply(lane, w->dbranch, drop, p->B, p->T, C);
    return w->dbranch;
}

/* Between two barriers each lane writes its own rows only, or reads all rows of what was written before. */
void block_backward(const struct lane *lane, const real *x, const struct block_acts *a, struct work *w, real *grads,
                    const struct block_pass *p)
{
    const struct config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    const struct block_params b = block_params(&p->model->table, p->model->params, p->layer);
    const struct block_params g = block_params(&p->model->table, grads, p->layer);
    const struct block_weights m = weights_of(&b, w, p);
    assert(!p->cache);

    pack(lane, &m, LINEAR_BACKWARD); /* the next barrier comes before the first use */
    laps_take(lane, w->laps, LAPS_PACK, LAPS_INPUT);
    /* forward: out = mid + drop(gelu W_out + b_out) */
    const struct dropout drop_mlp = dropout_of(p, RNG_DROP_MLP);
    const real *dmlp = branch_gradient(lane, w, &drop_mlp, p, C);
    laps_take(lane, w->laps, LAPS_RESIDUAL, LAPS_INPUT);
    laps_barrier(lane, w->laps);
    if (grads)
        linear_backward_weight(lane, g.fc_out, g.fc_out_bias, a->gelu, dmlp, &m.fc_out, N);
    laps_take(lane, w->laps, LAPS_FC_OUT, LAPS_WEIGHT);
    linear_backward_input(lane, w->dfc, dmlp, &m.fc_out, N);
    laps_take(lane, w->laps, LAPS_FC_OUT, LAPS_INPUT);
    mix(lane, p, FAULT_GELU, w->dfc, 4 * C, true);
    gelu_backward(lane, w->dfc, w->dfc, a->fc, N, 4 * C); /* forward: gelu(fc) */
    laps_take(lane, w->laps, LAPS_GELU, LAPS_INPUT);
    laps_barrier(lane, w->laps);
    /* forward: fc = LN2(mid) W_fc + b_fc */
    if (grads)
        linear_backward_weight(lane, g.fc, g.fc_bias, a->ln2, w->dfc, &m.fc, N);
    laps_take(lane, w->laps, LAPS_FC, LAPS_WEIGHT);
    linear_backward_input(lane, w->dln, w->dfc, &m.fc, N);
    laps_take(lane, w->laps, LAPS_FC, LAPS_INPUT);
    mix(lane, p, FAULT_LN2, w->dln, C, true);
    laps_barrier(lane, w->laps);
    if (grads)
        layernorm_backward_weight(lane, g.ln2_gain, g.ln2_bias, w->dln, a->mid, a->ln2_mean, a->ln2_rstd, N, C);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_WEIGHT);
    layernorm_backward_input(lane, w->dres, w->dln, a->mid, a->ln2_mean, a->ln2_rstd, b.ln2_gain, N, C);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_INPUT);

    /* forward: mid = x + drop(att W_O + b_O) */
    const struct dropout drop_residual = dropout_of(p, RNG_DROP_RESIDUAL);
    const real *dproj = branch_gradient(lane, w, &drop_residual, p, C);
    laps_take(lane, w->laps, LAPS_RESIDUAL, LAPS_INPUT);
    laps_barrier(lane, w->laps);
    if (grads)
        linear_backward_weight(lane, g.proj, g.proj_bias, a->att, dproj, &m.proj, N);
    laps_take(lane, w->laps, LAPS_PROJ, LAPS_WEIGHT);
    linear_backward_input(lane, w->dln, dproj, &m.proj, N); /* w->dln now holds the gradient of att */
    laps_take(lane, w->laps, LAPS_PROJ, LAPS_INPUT);
    mix(lane, p, FAULT_ATTENTION, w->dln, C, true);
    attention_barrier(lane, p, w->laps);
    const struct attention_shape shape = shape_of(p);
    const struct dropout drop = dropout_of(p, RNG_DROP_ATTENTION);
    /* forward: att = attention(q, k, v), the three views of qkv */
    real *dk = w->dqkv + C, *dv = w->dqkv + 2 * C;
    const real *k = a->qkv + C, *v = a->qkv + 2 * C;
    if (by_textbook(p, &shape, a))
        attention_ref_backward(lane, w->dqkv, dk, dv, w->dln, a->weights, a->qkv, k, v, &shape, &drop, w->ref_scratch);
    else
        attention_backward(lane, w->dqkv, dk, dv, w->dln, a->att, &a->kept, a->qkv, k, v, &shape, &drop, w->scratch);
    laps_take(lane, w->laps, LAPS_ATTENTION, LAPS_INPUT);
    laps_barrier(lane, w->laps);
    /* The transpose of what was applied to q and k would stand here. */
    /* forward: qkv = LN1(x) W_QKV + b_QKV */
    if (grads)
        linear_backward_weight(lane, g.qkv, g.qkv_bias, a->ln1, w->dqkv, &m.qkv, N);
    laps_take(lane, w->laps, LAPS_QKV, LAPS_WEIGHT);
    linear_backward_input(lane, w->dln, w->dqkv, &m.qkv, N);
    laps_take(lane, w->laps, LAPS_QKV, LAPS_INPUT);
    mix(lane, p, FAULT_LN1, w->dln, C, true);
    laps_barrier(lane, w->laps);
    if (grads)
        layernorm_backward_weight(lane, g.ln1_gain, g.ln1_bias, w->dln, x, a->ln1_mean, a->ln1_rstd, N, C);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_WEIGHT);
    layernorm_backward_input(lane, w->dres, w->dln, x, a->ln1_mean, a->ln1_rstd, b.ln1_gain, N, C);
    laps_take(lane, w->laps, LAPS_LAYERNORM, LAPS_INPUT);
}
