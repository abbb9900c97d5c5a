#include "diag/definition.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diag/rounding.h"
#include "kernels/dropout.h"
#include "model/block.h"

#ifdef NOPEEK_DOUBLE
#define ALLOWED 1e-9
#else
#define ALLOWED 1e-4
#endif

/* One comparison at work: one batch row of one pass. */
struct job {
    struct definition_report *r;
    const struct gpt *g;
    size_t T, layer, b;
    const struct gpt_pass *pass;
    real *keep;         /* (C) or (T): dropout's mask of a row */
    double *row, *size; /* (widest): what is right, and the size of its terms */
    double *rounded;    /* (head_size): what the rounding of attention's weights may change */
    double *p;          /* (T): attention weights */
};

static void blame(const struct job *j, size_t head, const char *operation, double error, const char *reads)
{
    struct definition_report *r = j->r;
    if (r->places < DEFINITION_PLACES)
        r->place[r->places] = (struct definition_place){j->layer, head, operation, error, reads};
    r->places++;
}

/* The largest error of one row, in allowed ones. Numbers that are not finite never pass. */
static double row_error(const struct job *j, const real *found, size_t n)
{
    double worst = 0;
    for (size_t c = 0; c < n; c++) {
        const double off = fabs((double)found[c] - j->row[c]), allowed = ALLOWED * (j->size[c] + 1e-30);
        const double error = off / allowed;
        if (!(error <= worst))
            worst = isnan(error) ? (double)INFINITY : error;
    }
    return worst;
}

/* Takes one row of an operation into account; true when it is wrong. */
static bool count(const struct job *j, double error)
{
    j->r->rows++;
    if (error > 1)
        return true;
    j->r->largest = error > j->r->largest ? error : j->r->largest;
    return false;
}

static void right_layernorm(const struct job *j, const real *x, const real *gain, const real *bias, size_t C)
{
    double mean = 0, var = 0, most = 0;
    for (size_t c = 0; c < C; c++) {
        mean += (double)x[c] / (double)C;
        most = fmax(most, fabs((double)x[c]));
    }
    for (size_t c = 0; c < C; c++)
        var += ((double)x[c] - mean) * ((double)x[c] - mean) / (double)C;
    const double rstd = 1 / sqrt(var + j->g->config.norm_epsilon);
    for (size_t c = 0; c < C; c++) {
        const double b = bias ? (double)bias[c] : 0, y = ((double)x[c] - mean) * rstd * (double)gain[c];
        j->row[c] = y + b;
        j->size[c] = (1 + most * rstd) * fabs((double)gain[c]) + fabs(b);
    }
}

static struct dropout dropout_of(const struct job *j, enum rng_purpose purpose)
{
    return (struct dropout){.p = j->pass->training ? j->g->config.dropout : 0,
                            .site = {.seed = j->pass->seed,
                                     .purpose = purpose,
                                     .step = j->pass->step,
                                     .layer = purpose == RNG_DROP_EMBEDDING ? 0 : (uint32_t)j->layer},
                            .first_row = j->pass->first_row};
}

static double factor(const struct job *j, real x)
{
    return rounding_factor(j->g->config.precision, (double)x);
}

/* row = x W + bias, W (in,out) */
static void right_linear(const struct job *j, const real *x, const real *w, const real *bias, size_t in, size_t out)
{
    for (size_t o = 0; o < out; o++) {
        j->row[o] = bias ? (double)bias[o] : 0;
        j->size[o] = fabs(j->row[o]);
    }
    for (size_t i = 0; i < in; i++) {
        const double x_i = factor(j, x[i]);
        for (size_t o = 0; o < out; o++) {
            const double term = x_i * factor(j, w[i * out + o]);
            j->row[o] += term;
            j->size[o] += fabs(term);
        }
    }
}

/* Dropout's mask of position t in a site without heads: (C). */
static const real *mask_of(const struct job *j, enum rng_purpose purpose, size_t t)
{
    const size_t C = j->g->config.n_embd;
    const struct dropout d = dropout_of(j, purpose);
    dropout_mask(&lane_alone, j->keep, &d, j->b, 0, t * C, C);
    return j->keep;
}

/* row = start + keep row */
static void join(const struct job *j, const real *start, const real *keep)
{
    for (size_t c = 0; c < j->g->config.n_embd; c++) {
        j->row[c] = (double)start[c] + (double)keep[c] * j->row[c];
        j->size[c] = fabs((double)start[c]) + (double)keep[c] * j->size[c];
    }
}

static void right_gelu(const struct job *j, const real *x, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        const double v = (double)x[c];
        j->row[c] = v / 2 * (1 + tanh(sqrt(2 / acos(-1.0)) * (v + 0.044715 * v * v * v)));
        j->size[c] = fabs(v);
    }
}

/* What attention may do instead of what it should: which keys query i sees. */
static const struct mistake {
    const char *reads;
    long ahead; /* keys up to i + ahead are seen */
    enum { AS_DECLARED, FROM_START, FROM_ITSELF, ONE_EARLIER } begin;
} MISTAKES[] = {
    {"as if there were no mask", LONG_MAX / 2, FROM_START},
    {"as if the next position were visible", 1, AS_DECLARED},
    {"as if a position could not see itself", -1, AS_DECLARED},
    {"as if the triangle were the wrong way round", LONG_MAX / 2, FROM_ITSELF},
    {"as if all earlier positions were in the window", 0, FROM_START},
    {"as if the window were one position longer", 0, ONE_EARLIER},
};

static size_t mistaken_begin(const struct mistake *m, const struct config *c, size_t T, size_t i)
{
    const size_t right = attention_shape_keys(c->declared, c->window, T, T, i).begin;
    switch (m->begin) {
    case FROM_START:
        return 0;
    case FROM_ITSELF:
        return i;
    case ONE_EARLIER:
        return right > 0 ? right - 1 : 0;
    default:
        return right;
    }
}

/* Row of head `head` of query i over keys [begin, end). Returns the relative error that single precision may make in
 * the weights, for scores are exponents. */
static double right_attention(const struct job *j, enum precision how, const real *qkv, size_t head, size_t i,
                              size_t begin, size_t end)
{
    const size_t C = j->g->config.n_embd, hs = j->g->config.head_size;
    const double scale = 1 / sqrt((double)hs);
    /* Weights are rounded too, after they have been divided by one thing or another: by how much is known, not where.
     */
    const double weights = how == PRECISION_BF16 ? BF16_EPSILON / 2 : 0;
    const real *q = qkv + i * 3 * C + head * hs;
    double m = -INFINITY, l = 0, blur = 0;
    for (size_t k = begin; k < end; k++) {
        double s = 0, terms = 0;
        for (size_t c = 0; c < hs; c++) {
            const double key = rounding_factor(how, (double)qkv[k * 3 * C + C + head * hs + c]);
            const double term = rounding_factor(how, (double)q[c]) * key * scale;
            s += term;
            terms += fabs(term);
        }
        j->p[k] = s;
        m = s > m ? s : m;
        blur = terms > blur ? terms : blur;
    }
    for (size_t k = begin; k < end; k++) {
        j->p[k] = exp(j->p[k] - m);
        l += j->p[k];
    }
    memset(j->row, 0, hs * sizeof *j->row);
    memset(j->size, 0, hs * sizeof *j->size);
    memset(j->rounded, 0, hs * sizeof *j->rounded);
    const struct dropout d = dropout_of(j, RNG_DROP_ATTENTION);
    dropout_mask(&lane_alone, j->keep, &d, j->b, head, i * j->T, j->T);
    for (size_t k = begin; k < end; k++)
        for (size_t c = 0; c < hs; c++) {
            const double value = rounding_factor(how, (double)qkv[k * 3 * C + 2 * C + head * hs + c]);
            const double v = (double)j->keep[k] * value, term = j->p[k] / l * v;
            j->row[c] += term;
            j->rounded[c] += weights * fabs(term);
            j->size[c] = fmax(j->size[c], fabs(v));
        }
    for (size_t c = 0; c < hs; c++) {
        if (end - begin > 1)
            j->size[c] *= 1 + blur;
        j->size[c] += j->rounded[c] / ALLOWED;
    }
    return end - begin > 1 ? ALLOWED * blur : 0; /* of one key alone the weight is 1 */
}

/* The error of what attention gave for query i, if it sees keys [begin, end). In bf16 it may take its factors rounded
 * or as they are: the reference attention, which keeps its weights, is fp32. */
static double attention_error(const struct job *j, const real *qkv, const real *att, size_t head, size_t i,
                              size_t begin, size_t end, bool *too_sharp)
{
    const size_t C = j->g->config.n_embd, hs = j->g->config.head_size;
    const enum precision how = j->g->config.precision;
    *too_sharp = right_attention(j, how, qkv, head, i, begin, end) > 0.05;
    const double error = row_error(j, att + i * C + head * hs, hs);
    if (error <= 1 || how == PRECISION_FP32)
        return error;
    *too_sharp |= right_attention(j, PRECISION_FP32, qkv, head, i, begin, end) > 0.05;
    return fmin(error, row_error(j, att + i * C + head * hs, hs));
}

/* Which common mistake explains all rows of a head, if one does. */
static const char *explain_head(const struct job *j, const real *qkv, const real *att, size_t head)
{
    const size_t T = j->T;
    for (size_t m = 0; m < sizeof MISTAKES / sizeof *MISTAKES; m++) {
        bool fits = true, too_sharp;
        for (size_t i = 0; i < T && fits; i++) {
            const long end = (long)i + 1 + MISTAKES[m].ahead;
            const size_t begin = mistaken_begin(&MISTAKES[m], &j->g->config, T, i);
            fits = attention_error(j, qkv, att, head, i, begin, end < (long)T ? (size_t)end : T, &too_sharp) <= 1;
        }
        if (fits)
            return MISTAKES[m].reads;
    }
    return NULL;
}

static void check_attention(const struct job *j, const real *qkv, const real *att)
{
    const struct config *c = &j->g->config;
    for (size_t head = 0; head < c->n_head; head++) {
        double worst = 0;
        for (size_t i = 0; i < j->T; i++) {
            const struct attention_interval seen = attention_shape_keys(c->declared, c->window, j->T, j->T, i);
            bool too_sharp;
            const double error = attention_error(j, qkv, att, head, i, seen.begin, seen.end, &too_sharp);
            if (too_sharp) {
                j->r->too_sharp++;
                continue;
            }
            if (count(j, error) && error > worst)
                worst = error;
        }
        if (worst > 0)
            blame(j, head, "attention", worst, explain_head(j, qkv, att, head));
    }
}

/* The worst wrong row so far, for an operation without heads. */
static void note(const struct job *j, double *worst, const real *found, size_t n)
{
    const double error = row_error(j, found, n);
    if (count(j, error) && error > *worst)
        *worst = error;
}

static void blame_if(const struct job *j, const char *operation, double worst)
{
    if (worst > 0)
        blame(j, DEFINITION_NOWHERE, operation, worst, NULL);
}

/* x (T,C) into the block; acts of the batch row begin at these pointers. */
static void check_block(const struct job *j, const real *x, const struct block_acts *a, size_t first)
{
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, T = j->T;
    const struct block_params p = block_params(&j->g->table, j->g->params, j->layer);
    const real *ln1 = a->ln1 + first * C, *qkv = a->qkv + first * 3 * C, *att = a->att + first * C,
               *mid = a->mid + first * C, *ln2 = a->ln2 + first * C, *fc = a->fc + first * 4 * C,
               *gelu = a->gelu + first * 4 * C, *out = a->out + first * C;
    double worst[7] = {0};
    for (size_t t = 0; t < T; t++) {
        right_layernorm(j, x + t * C, p.ln1_gain, p.ln1_bias, C);
        note(j, &worst[0], ln1 + t * C, C);
        right_linear(j, ln1 + t * C, p.qkv, p.qkv_bias, C, 3 * C);
        note(j, &worst[1], qkv + t * 3 * C, 3 * C);
        right_linear(j, att + t * C, p.proj, p.proj_bias, C, C);
        join(j, x + t * C, mask_of(j, RNG_DROP_RESIDUAL, t));
        note(j, &worst[2], mid + t * C, C);
        right_layernorm(j, mid + t * C, p.ln2_gain, p.ln2_bias, C);
        note(j, &worst[3], ln2 + t * C, C);
        right_linear(j, ln2 + t * C, p.fc, p.fc_bias, C, 4 * C);
        note(j, &worst[4], fc + t * 4 * C, 4 * C);
        right_gelu(j, fc + t * 4 * C, 4 * C);
        note(j, &worst[5], gelu + t * 4 * C, 4 * C);
        right_linear(j, gelu + t * 4 * C, p.fc_out, p.fc_out_bias, 4 * C, C);
        join(j, mid + t * C, mask_of(j, RNG_DROP_MLP, t));
        note(j, &worst[6], out + t * C, C);
    }
    blame_if(j, "LayerNorm 1", worst[0]);
    blame_if(j, "W_QKV", worst[1]);
    check_attention(j, qkv, att);
    blame_if(j, "W_O", worst[2]);
    blame_if(j, "LayerNorm 2", worst[3]);
    blame_if(j, "W_fc", worst[4]);
    blame_if(j, "GELU", worst[5]);
    blame_if(j, "W_out", worst[6]);
}

static const real *tensor(const struct gpt *g, enum params_kind kind)
{
    const struct params_tensor *p = params_find(&g->table, kind, 0);
    return p && p->present ? g->params + p->offset : NULL;
}

static void check_ends(struct job *j, const struct work *w, const uint32_t *tokens, size_t first)
{
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, V = c->vocab_size;
    const real *wte = tensor(j->g, PARAMS_TOKEN_EMBEDDING), *wpe = tensor(j->g, PARAMS_POSITION_EMBEDDING),
               *head = c->tied ? wte : tensor(j->g, PARAMS_HEAD), *x = w->block[c->n_layer - 1].out + first * C,
               *lnf = w->lnf + first * C;
    double embedding = 0, norm = 0, output = 0;
    for (size_t t = 0; t < j->T; t++) {
        const real *keep = mask_of(j, RNG_DROP_EMBEDDING, t);
        for (size_t k = 0; k < C; k++) {
            const double token = (double)wte[tokens[t] * C + k], position = (double)wpe[t * C + k];
            j->row[k] = (double)keep[k] * (token + position);
            j->size[k] = (double)keep[k] * (fabs(token) + fabs(position));
        }
        note(j, &embedding, w->embedded + (first + t) * C, C);
        right_layernorm(j, x + t * C, tensor(j->g, PARAMS_LNF_GAIN), tensor(j->g, PARAMS_LNF_BIAS), C);
        note(j, &norm, lnf + t * C, C);
        for (size_t v = 0; v < V; v++) {
            j->row[v] = j->size[v] = 0;
            for (size_t k = 0; k < C; k++) {
                const double term = factor(j, lnf[t * C + k]) * factor(j, head[v * C + k]);
                j->row[v] += term;
                j->size[v] += fabs(term);
            }
        }
        note(j, &output, w->logits + (first + t) * V, V);
    }
    j->layer = DEFINITION_NOWHERE;
    blame_if(j, "embeddings", embedding);
    blame_if(j, "final LayerNorm", norm);
    blame_if(j, "output head", output);
}

enum status definition_check(struct definition_report *r, const struct gpt *g, const struct work *w,
                             const uint32_t *tokens, size_t T, size_t b, const struct gpt_pass *pass, struct error *err)
{
    assert(w->training && T > 0 && T <= w->T && b < w->B);
    const struct config *c = &g->config;
    const size_t widest = c->vocab_size > 4 * c->n_embd ? c->vocab_size : 4 * c->n_embd;
    struct job j = {.r = r, .g = g, .T = T, .b = b, .pass = pass};
    j.keep = malloc((T > c->n_embd ? T : c->n_embd) * sizeof *j.keep);
    j.row = malloc(widest * sizeof *j.row);
    j.size = malloc(widest * sizeof *j.size);
    j.rounded = malloc(c->head_size * sizeof *j.rounded);
    j.p = malloc(T * sizeof *j.p);
    enum status s = STATUS_OK;
    if (!j.row || !j.size || !j.rounded || !j.p || !j.keep) {
        s = fail(err, STATUS_MEMORY, "check: memory to work the operations out again was refused");
    } else {
        const size_t first = b * T;
        for (j.layer = 0; j.layer < c->n_layer; j.layer++)
            check_block(&j, (j.layer ? w->block[j.layer - 1].out : w->embedded) + first * c->n_embd, &w->block[j.layer],
                        first);
        check_ends(&j, w, tokens + first, first);
    }
    free(j.row);
    free(j.size);
    free(j.rounded);
    free(j.p);
    free(j.keep);
    return s;
}
