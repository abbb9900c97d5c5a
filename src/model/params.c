#include "model/params.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* A size of a tensor, to be looked up in the config. */
enum axis { ONE, V, T, C, C3, C4 };

/* How a tensor starts (params_init). */
enum start { ZERO, UNIT, TOKENS, WAVES, MATRIX, MATRIX_RESIDUAL };

/* The list of parameters, in the order of GPT-2's files. "%zu" in a name is the layer. */
static const struct spec {
    const char *name;
    enum params_role role;
    enum axis rows, cols;
    enum start start;
} SPECS[PARAMS_KINDS] = {
    [PARAMS_TOKEN_EMBEDDING] = {"transformer.wte.weight", PARAMS_ROLE_EMBEDDING, V, C, TOKENS},
    [PARAMS_POSITION_EMBEDDING] = {"transformer.wpe.weight", PARAMS_ROLE_EMBEDDING, T, C, WAVES},
    [PARAMS_LN1_GAIN] = {"transformer.h.%zu.ln_1.weight", PARAMS_ROLE_GAIN, ONE, C, UNIT},
    [PARAMS_LN1_BIAS] = {"transformer.h.%zu.ln_1.bias", PARAMS_ROLE_BIAS, ONE, C, ZERO},
    [PARAMS_QKV] = {"transformer.h.%zu.attn.c_attn.weight", PARAMS_ROLE_MATRIX, C, C3, MATRIX},
    [PARAMS_QKV_BIAS] = {"transformer.h.%zu.attn.c_attn.bias", PARAMS_ROLE_BIAS, ONE, C3, ZERO},
    [PARAMS_PROJ] = {"transformer.h.%zu.attn.c_proj.weight", PARAMS_ROLE_MATRIX, C, C, MATRIX_RESIDUAL},
    [PARAMS_PROJ_BIAS] = {"transformer.h.%zu.attn.c_proj.bias", PARAMS_ROLE_BIAS, ONE, C, ZERO},
    [PARAMS_LN2_GAIN] = {"transformer.h.%zu.ln_2.weight", PARAMS_ROLE_GAIN, ONE, C, UNIT},
    [PARAMS_LN2_BIAS] = {"transformer.h.%zu.ln_2.bias", PARAMS_ROLE_BIAS, ONE, C, ZERO},
    [PARAMS_FC] = {"transformer.h.%zu.mlp.c_fc.weight", PARAMS_ROLE_MATRIX, C, C4, MATRIX},
    [PARAMS_FC_BIAS] = {"transformer.h.%zu.mlp.c_fc.bias", PARAMS_ROLE_BIAS, ONE, C4, ZERO},
    [PARAMS_FC_OUT] = {"transformer.h.%zu.mlp.c_proj.weight", PARAMS_ROLE_MATRIX, C4, C, MATRIX_RESIDUAL},
    [PARAMS_FC_OUT_BIAS] = {"transformer.h.%zu.mlp.c_proj.bias", PARAMS_ROLE_BIAS, ONE, C, ZERO},
    [PARAMS_LNF_GAIN] = {"transformer.ln_f.weight", PARAMS_ROLE_GAIN, ONE, C, UNIT},
    [PARAMS_LNF_BIAS] = {"transformer.ln_f.bias", PARAMS_ROLE_BIAS, ONE, C, ZERO},
    [PARAMS_HEAD] = {"lm_head.weight", PARAMS_ROLE_HEAD, V, C, TOKENS},
};

enum { PER_LAYER = PARAMS_FC_OUT_BIAS - PARAMS_LN1_GAIN + 1 };

static bool in_block(enum params_kind kind)
{
    return kind >= PARAMS_LN1_GAIN && kind <= PARAMS_FC_OUT_BIAS;
}

static size_t axis_size(enum axis a, const struct config *c)
{
    switch (a) {
    case V:
        return c->vocab_size;
    case T:
        return c->block_size;
    case C:
        return c->n_embd;
    case C3:
        return 3 * c->n_embd;
    case C4:
        return 4 * c->n_embd;
    default:
        return 1;
    }
}

static void add(struct params_table *t, const struct config *c, enum params_kind kind, size_t layer)
{
    const struct spec *spec = &SPECS[kind];
    struct params_tensor *p = &t->tensor[t->count++];
    *p = (struct params_tensor){
        .kind = kind,
        .role = spec->role,
        .layer = layer,
        .rows = axis_size(spec->rows, c),
        .cols = axis_size(spec->cols, c),
        .vector = spec->rows == ONE,
        .offset = t->size,
        .present = c->bias || spec->role != PARAMS_ROLE_BIAS,
    };
    /* The layer is put in by hand: only a constant format is checked by compilers. */
    const char *hole = strstr(spec->name, "%zu");
    if (hole)
        snprintf(p->name, sizeof p->name, "%.*s%zu%s", (int)(hole - spec->name), spec->name, layer, hole + 3);
    else
        snprintf(p->name, sizeof p->name, "%s", spec->name);
    if (p->present)
        t->size += p->rows * p->cols;
}

enum status params_table_make(struct params_table *t, const struct config *c, struct error *err)
{
    *t = (struct params_table){0};
    const size_t most = PARAMS_KINDS - PER_LAYER + PER_LAYER * c->n_layer;
    t->tensor = calloc(most, sizeof *t->tensor);
    if (!t->tensor)
        return fail(err, STATUS_MEMORY, "the table of %zu parameter tensors was refused memory", most);
    add(t, c, PARAMS_TOKEN_EMBEDDING, 0);
    add(t, c, PARAMS_POSITION_EMBEDDING, 0);
    for (size_t layer = 0; layer < c->n_layer; layer++)
        for (int kind = PARAMS_LN1_GAIN; kind <= PARAMS_FC_OUT_BIAS; kind++)
            add(t, c, (enum params_kind)kind, layer);
    add(t, c, PARAMS_LNF_GAIN, 0);
    add(t, c, PARAMS_LNF_BIAS, 0);
    if (!c->tied)
        add(t, c, PARAMS_HEAD, 0);
    return STATUS_OK;
}

void params_table_free(struct params_table *t)
{
    free(t->tensor);
    *t = (struct params_table){0};
}

const struct params_tensor *params_find(const struct params_table *t, enum params_kind kind, size_t layer)
{
    /* The order of params_table_make: passes ask for every tensor of every layer, once for each symbol. */
    const size_t before = PARAMS_LN1_GAIN, outside = PARAMS_KINDS - PER_LAYER - 1;
    const size_t layers = t->count >= outside ? (t->count - outside) / PER_LAYER : 0;
    size_t i = (size_t)kind;
    if (in_block(kind))
        i += layer * PER_LAYER;
    else if (i >= before)
        i += (layers - 1) * PER_LAYER;
    const bool there = i < t->count && (!in_block(kind) || layer < layers);
    assert(!there || t->tensor[i].kind == kind);
    return there ? &t->tensor[i] : NULL;
}

size_t params_views(struct params_view out[6], const struct params_table *t, size_t layer)
{
    static const char *const weights[3] = {"W_Q", "W_K", "W_V"}, *const biases[3] = {"b_Q", "b_K", "b_V"};
    const struct params_tensor *w = params_find(t, PARAMS_QKV, layer), *b = params_find(t, PARAMS_QKV_BIAS, layer);
    assert(w && b);
    size_t n = 0;
    for (size_t i = 0; i < 3; i++)
        out[n++] = (struct params_view){weights[i], (size_t)(w - t->tensor), i * w->cols / 3, w->cols / 3};
    if (b->present)
        for (size_t i = 0; i < 3; i++)
            out[n++] = (struct params_view){biases[i], (size_t)(b - t->tensor), i * b->cols / 3, b->cols / 3};
    return n;
}

bool params_decays(const struct params_tensor *p)
{
    return p->role == PARAMS_ROLE_MATRIX || p->role == PARAMS_ROLE_HEAD;
}

/* The standard deviation of a tensor that starts at random. */
static double spread(enum start start, const struct params_tensor *p, const struct config *c)
{
    if (start == TOKENS)
        return 0.02;
    const double sigma = 0.5 / sqrt((double)p->rows);
    return start == MATRIX_RESIDUAL ? sigma / sqrt(2.0 * (double)c->n_layer) : sigma;
}

/* Channel `channel` of position t: pairs of sine and cosine, the wavelength growing from 2 pi to 2000 pi. */
static double wave(size_t t, size_t channel, size_t channels)
{
    const size_t pair = channel - channel % 2;
    const double frequency = pow(1000, -(double)pair / (double)channels);
    return 0.08 * (channel % 2 ? cos((double)t * frequency) : sin((double)t * frequency));
}

void params_init(real *values, const struct params_table *t, const struct config *c, uint64_t seed)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct params_tensor *p = &t->tensor[i];
        if (!p->present)
            continue;
        const enum start start = SPECS[p->kind].start;
        const double sigma = spread(start, p, c);
        /* The kind stands where a head would, so that draws do not shift when a bias comes or goes. */
        struct rng_site site = {
            .seed = seed, .purpose = RNG_INIT, .layer = (uint32_t)p->layer, .head = (uint32_t)p->kind};
        for (size_t k = 0; k < p->rows * p->cols; k++) {
            real *x = &values[p->offset + k];
            site.row = (uint32_t)(k >> 32);
            if (start == ZERO || start == UNIT)
                *x = start == UNIT;
            else if (start == WAVES)
                *x = (real)wave(k / p->cols, k % p->cols, p->cols);
            else
                *x = (real)(sigma * rng_normal(&site, (uint32_t)k));
        }
    }
}
