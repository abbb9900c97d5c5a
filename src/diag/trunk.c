#include "diag/trunk.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "diag/rounding.h"
#include "kernels/dropout.h"
#include "model/block.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-6
#define UNIT DBL_EPSILON
#else
#define NEAR 1e-2
#define UNIT FLT_EPSILON
#endif

struct job {
    struct verdict *v;
    const struct gpt *g;
    struct work *w;
    size_t B, T, N;
    struct gpt_pass pass;
    uint32_t *tokens;           /* (B,T) */
    real *dlogits;              /* (N,V): what is sent back */
    real *whole, *parts;        /* (table.size): gradients of the whole pass, and put together */
    real *dwhole, *dparts;      /* (N,C): of the embeddings */
    bool rough;                 /* gradients say nothing: the norms' terms cancel */
    double *dlnf, *dx;          /* (N,C) */
    double *head, *norm, *bias; /* (V,C), (C), (C): what gradients around the blocks should be */
};

static void layout(struct job *j, struct arena *a)
{
    const size_t C = j->g->config.n_embd, V = j->g->config.vocab_size, size = j->g->table.size;
    j->tokens = arena_take(a, j->N, sizeof *j->tokens);
    j->dlogits = arena_take(a, j->N * V, sizeof *j->dlogits);
    j->whole = arena_take(a, size, sizeof *j->whole);
    j->parts = arena_take(a, size, sizeof *j->parts);
    j->dwhole = arena_take(a, j->N * C, sizeof *j->dwhole);
    j->dparts = arena_take(a, j->N * C, sizeof *j->dparts);
    j->dlnf = arena_take(a, j->N * C, sizeof *j->dlnf);
    j->dx = arena_take(a, j->N * C, sizeof *j->dx);
    j->head = arena_take(a, V * C, sizeof *j->head);
    j->norm = arena_take(a, C, sizeof *j->norm);
    j->bias = arena_take(a, C, sizeof *j->bias);
}

static const struct params_tensor *tensor(const struct job *j, enum params_kind kind, size_t layer)
{
    const struct params_tensor *t = params_find(&j->g->table, kind, layer);
    return t && t->present ? t : NULL;
}

static real *values(const struct job *j, real *all, enum params_kind kind)
{
    const struct params_tensor *t = tensor(j, kind, 0);
    return t ? all + t->offset : NULL;
}

static void lane(const struct lane *lane, void *context)
{
    const struct job *j = context;
    const size_t L = j->g->config.n_layer;
    for (size_t layer = L; layer-- > 0;) {
        const struct block_pass p = {j->g, layer, j->B, j->T, &j->pass, NULL, false};
        lane_barrier(lane);
        block_backward(lane, layer ? j->w->block[layer - 1].out : j->w->embedded, &j->w->block[layer], j->w, j->parts,
                       &p);
    }
}

/* forward: logits = LN_f(x) W_head^T; fills dx, and what gradients of the head and the norm should be. */
static void back_ends(struct job *j)
{
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, V = c->vocab_size;
    const real *head = values(j, j->g->params, c->tied ? PARAMS_TOKEN_EMBEDDING : PARAMS_HEAD),
               *gain = values(j, j->g->params, PARAMS_LNF_GAIN), *x = j->w->block[c->n_layer - 1].out;
    double terms = 0, left = 1e-300;
    for (size_t n = 0; n < j->N; n++) {
        const real *x_n = x + n * C, *lnf = j->w->lnf + n * C, *dlogits = j->dlogits + n * V;
        double *d = j->dlnf + n * C, mean = 0, var = 0, g_mean = 0, gx_mean = 0;
        for (size_t v = 0; v < V; v++) {
            const double from = rounding_factor(c->precision, (double)dlogits[v]);
            for (size_t k = 0; k < C; k++) {
                d[k] += from * rounding_factor(c->precision, (double)head[v * C + k]);
                j->head[v * C + k] += from * rounding_factor(c->precision, (double)lnf[k]);
            }
        }
        for (size_t k = 0; k < C; k++)
            mean += (double)x_n[k] / (double)C;
        for (size_t k = 0; k < C; k++)
            var += ((double)x_n[k] - mean) * ((double)x_n[k] - mean) / (double)C;
        const double rstd = 1 / sqrt(var + c->norm_epsilon);
        for (size_t k = 0; k < C; k++) {
            const double xhat = ((double)x_n[k] - mean) * rstd;
            j->norm[k] += d[k] * xhat;
            j->bias[k] += d[k];
            g_mean += d[k] * (double)gain[k] / (double)C;
            gx_mean += d[k] * (double)gain[k] * xhat / (double)C;
        }
        for (size_t k = 0; k < C; k++) {
            const double g = d[k] * (double)gain[k], back = ((double)x_n[k] - mean) * rstd * gx_mean;
            j->dx[n * C + k] = rstd * (g - g_mean - back);
            terms += rstd * rstd * (g * g + g_mean * g_mean + back * back);
            left += j->dx[n * C + k] * j->dx[n * C + k];
        }
    }
    j->rough |= sqrt(terms / left) * 16 * UNIT > NEAR;
}

static void blame(const struct job *j, const char *operation, size_t layer, const char *what)
{
    struct verdict_finding *f = verdict_find(j->v, "trunk", "the gradient of %s is not what its parts give", what);
    f->layer = layer;
    f->backward = true;
    snprintf(f->operation, sizeof f->operation, "%s", operation);
}

/* Lengths of a difference and of what is right. */
struct lengths {
    double off, right;
};

static void add(struct lengths *l, double found, double right)
{
    l->off += (found - right) * (found - right);
    l->right += right * right;
}

/* A gradient that is nothing but rounding beside the whole says nothing. */
static bool wrong(const struct lengths *l, double whole)
{
    return !(sqrt(l->off) <= NEAR * sqrt(l->right) + 1e-4 * NEAR * whole);
}

/* The embeddings' gradients from the input's, whose own comes after; a tied one has the head's part too. */
static void compare_embeddings(struct job *j, double whole)
{
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, V = c->vocab_size;
    double *const token = j->head; /* (V,C), the head's gradient if they are one */
    struct lengths l = {0}, p = {0};
    if (!c->tied)
        memset(token, 0, V * C * sizeof *token);
    for (size_t n = 0; n < j->N; n++)
        for (size_t k = 0; k < C; k++)
            token[j->tokens[n] * C + k] += (double)j->dparts[n * C + k];
    const real *found = values(j, j->whole, PARAMS_TOKEN_EMBEDDING),
               *position = values(j, j->whole, PARAMS_POSITION_EMBEDDING);
    for (size_t k = 0; k < V * C; k++)
        add(&l, (double)found[k], token[k]);
    for (size_t k = 0; k < j->T * C; k++) {
        double sum = 0;
        for (size_t b = 0; b < j->B; b++)
            sum += (double)j->dparts[b * j->T * C + k];
        add(&p, (double)position[k], sum);
    }
    if (wrong(&l, whole))
        blame(j, "embeddings", VERDICT_NOWHERE, c->tied ? "token embeddings and output head" : "token embeddings");
    if (wrong(&p, whole))
        blame(j, "embeddings", VERDICT_NOWHERE, "position embeddings");
}

static void compare(struct job *j)
{
    const struct params_table *table = &j->g->table;
    const size_t C = j->g->config.n_embd, V = j->g->config.vocab_size;
    assert(j->whole && j->parts && j->dwhole && j->dparts);
    double whole = 0;
    for (size_t k = 0; k < table->size; k++)
        whole += (double)j->whole[k] * (double)j->whole[k];
    whole = sqrt(whole);
    struct lengths norm = {0}, bias = {0}, head = {0}, input = {0};
    const real *gain_found = values(j, j->whole, PARAMS_LNF_GAIN), *bias_found = values(j, j->whole, PARAMS_LNF_BIAS);
    for (size_t k = 0; k < C; k++) {
        add(&norm, (double)gain_found[k], j->norm[k]);
        if (bias_found)
            add(&bias, (double)bias_found[k], j->bias[k]);
    }
    if (wrong(&norm, whole) || wrong(&bias, whole)) {
        blame(j, "final LayerNorm", VERDICT_NOWHERE, "the final LayerNorm");
        return; /* the rest is built on it */
    }
    for (size_t k = 0; !j->g->config.tied && k < V * C; k++)
        add(&head, (double)values(j, j->whole, PARAMS_HEAD)[k], j->head[k]);
    if (wrong(&head, whole))
        blame(j, "output head", VERDICT_NOWHERE, "the output head");
    for (size_t k = 0; k < table->count; k++) {
        const struct params_tensor *t = &table->tensor[k];
        struct lengths l = {0};
        if (!t->present || t->kind < PARAMS_LN1_GAIN || t->kind > PARAMS_FC_OUT_BIAS)
            continue;
        for (size_t n = t->offset; n < t->offset + t->rows * t->cols; n++)
            add(&l, (double)j->whole[n], (double)j->parts[n]);
        if (wrong(&l, whole))
            blame(j, "block", t->layer, t->name);
    }
    for (size_t k = 0; k < j->N * C; k++)
        add(&input, (double)j->dwhole[k], (double)j->dparts[k]);
    if (wrong(&input, 0))
        blame(j, "embeddings", VERDICT_NOWHERE, "the model's input");
    compare_embeddings(j, whole);
}

static void run(struct job *j, uint64_t seed)
{
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, n = j->N * c->vocab_size;
    const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 13};
    for (size_t k = 0; k < j->N; k++)
        j->tokens[k] = (uint32_t)rng_below(&site, (uint32_t)k, c->vocab_size);
    for (size_t k = 0; k < n; k++)
        j->dlogits[k] = (real)rng_normal(&site, (uint32_t)(j->N + k));
    gpt_forward(j->g, j->w, j->tokens, j->B, j->T, &j->pass);
    memcpy(j->w->logits, j->dlogits, n * sizeof *j->dlogits);
    gpt_backward(j->g, j->w, j->tokens, j->B, j->T, &j->pass, j->whole);
    memcpy(j->dwhole, j->w->dres, j->N * C * sizeof *j->dwhole);
    back_ends(j);
    for (size_t k = 0; k < j->N * C; k++)
        j->w->dres[k] = (real)j->dx[k];
    team_run(j->w->team, lane, j);
    const struct dropout drop = {.p = c->dropout,
                                 .site = {.seed = j->pass.seed, .purpose = RNG_DROP_EMBEDDING, .step = j->pass.step},
                                 .first_row = j->pass.first_row};
    dropout_apply(&lane_alone, j->w->dres, &drop, j->B, j->T, C);
    memcpy(j->dparts, j->w->dres, j->N * C * sizeof *j->dparts);
    if (!j->rough)
        compare(j);
}

enum status trunk_check(struct verdict *v, const struct gpt *g, struct work *w, uint64_t seed, struct error *err)
{
    struct job j = {.v = v, .g = g, .w = w, .B = w->B < 2 ? 1 : 2, .T = w->T};
    j.N = j.B * j.T;
    j.pass = (struct gpt_pass){.training = true, .seed = seed, .step = 3, .first_row = 5};
    struct arena arena = {0};
    layout(&j, &arena);
    const enum status s = arena_place(&arena, err);
    if (s)
        return s;
    layout(&j, &arena);
    const size_t before = v->findings;
    j.rough = g->config.n_embd < 4; /* of so few channels a norm leaves signs, and gradients that are rounding */
    run(&j, seed);
    arena_free(&arena);
    if (j.rough) {
        verdict_say(v, "trunk", VERDICT_SKIPPED, 0, "norms leave nothing but rounding of their gradients");
        return STATUS_OK;
    }
    verdict_say(v, "trunk", v->findings > before ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                v->findings > before ? "the whole backward pass is not its parts put together"
                                     : "the whole backward pass is its parts put together, embeddings to output head");
    return STATUS_OK;
}
