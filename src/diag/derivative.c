#include "diag/derivative.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "diag/rounding.h"
#include "kernels/dropout.h"
#include "model/block.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-8
#else
#define NEAR 1e-3
#endif
/* Beyond this an error says nothing. */
#define TOO_ROUGH 0.2

/* One block of T rows, and what its backward pass should give, in double. */
struct job {
    struct verdict *v;
    const struct gpt *g;
    struct work *w;
    size_t B, T, N, layer; /* N = B T */
    struct gpt_pass pass;
    real *keep_mlp, *keep_residual, *keep;  /* dropout's masks: (N,C), (N,C), of one head (T,T) */
    real *x, *dout, *grads;                 /* (T,C), (T,C), (table.size) */
    double *dgelu, *dfc;                    /* (T,4C) */
    double *dln2, *dmid, *datt, *dln1, *dx; /* (T,C) */
    double *dqkv;                           /* (T,3C) */
    double *p, *dp;                         /* (T) */
    double *dw;                             /* (4 C C): one weight's gradient */
    double tolerance;                       /* relative: grows along the way back */
    size_t compared, too_rough;
    double worst; /* error over tolerance, of what passes */
};

static void layout(struct job *j, struct arena *a)
{
    const size_t C = j->g->config.n_embd, n = j->N * C;
    j->x = arena_take(a, n, sizeof *j->x);
    j->dout = arena_take(a, n, sizeof *j->dout);
    j->grads = arena_take(a, j->g->table.size, sizeof *j->grads);
    double **const wide[] = {&j->dgelu, &j->dfc}, **const narrow[] = {&j->dln2, &j->dmid, &j->datt, &j->dln1, &j->dx};
    for (size_t k = 0; k < 2; k++)
        *wide[k] = arena_take(a, 4 * n, sizeof(double));
    for (size_t k = 0; k < 5; k++)
        *narrow[k] = arena_take(a, n, sizeof(double));
    j->dqkv = arena_take(a, 3 * n, sizeof(double));
    j->keep_mlp = arena_take(a, n, sizeof *j->keep_mlp);
    j->keep_residual = arena_take(a, n, sizeof *j->keep_residual);
    j->keep = arena_take(a, j->T * j->T, sizeof *j->keep);
    j->p = arena_take(a, j->T, sizeof *j->p);
    j->dp = arena_take(a, j->T, sizeof *j->dp);
    j->dw = arena_take(a, 4 * C * C + 4 * C, sizeof *j->dw);
}

/* As the block itself draws. */
static struct dropout dropout_of(const struct job *j, enum rng_purpose purpose)
{
    return (struct dropout){
        .p = j->pass.training ? j->g->config.dropout : 0,
        .site = {.seed = j->pass.seed, .purpose = purpose, .step = j->pass.step, .layer = (uint32_t)j->layer},
        .first_row = j->pass.first_row};
}

static void draw_mask(const struct job *j, real *mask, enum rng_purpose purpose)
{
    const size_t C = j->g->config.n_embd;
    const struct dropout drop = dropout_of(j, purpose);
    for (size_t k = 0; k < j->N * C; k++)
        mask[k] = 1;
    dropout_apply(&lane_alone, mask, &drop, j->B, j->T, C);
}

static void block_lane(const struct lane *lane, void *context)
{
    const struct job *j = context;
    struct block_acts *a = &j->w->block[j->layer];
    const struct block_pass p = {j->g, j->layer, j->B, j->T, &j->pass, NULL, false};
    block_forward(lane, j->x, a, j->w, &p);
    lane_barrier(lane);
    block_backward(lane, j->x, a, j->w, j->grads, &p);
}

/* Of `count` columns of rows that are `stride` apart; never 0. */
static double length_of(const double *x, size_t rows, size_t stride, size_t count)
{
    double squares = 1e-300;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            squares += x[r * stride + c] * x[r * stride + c];
    return sqrt(squares);
}

/* Compares `count` columns of rows, `stride` apart, with what is right. False: wrong. */
static bool same(struct job *j, const real *found, const double *right, size_t rows, size_t stride, size_t count)
{
    double off = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < count; c++)
            off += pow((double)found[r * stride + c] - right[r * stride + c], 2);
    if (j->tolerance > TOO_ROUGH) {
        j->too_rough++;
        return true;
    }
    j->compared++;
    const double error = sqrt(off) / (j->tolerance * length_of(right, rows, stride, count) + 1e-30);
    if (!(error <= 1))
        return false;
    j->worst = fmax(j->worst, error);
    return true;
}

/* What rounding to bf16 weighs more by where a sum cancels. terms: squared length of what was summed. fp32 is so much
 * finer than what is looked for that it does not matter there. */
static double cancelling(const struct job *j, double terms, double length)
{
    return j->g->config.precision == PRECISION_BF16 ? fmax(1, sqrt(terms) / length) : 1;
}

/* The same of a sum over positions, (rows,count) without gaps. */
static bool same_sum(struct job *j, const real *found, const double *right, size_t rows, size_t count, double terms)
{
    const double before = j->tolerance;
    j->tolerance *= cancelling(j, terms, length_of(right, rows, count, count));
    const bool is_same = same(j, found, right, rows, count, count);
    j->tolerance = before;
    return is_same;
}

static void blame(const struct job *j, const char *operation, size_t head, const char *what)
{
    struct verdict_finding *f =
        verdict_find(j->v, "backward", "the gradient %s is not the derivative of %s", what, operation);
    f->layer = j->layer;
    f->head = head;
    f->backward = true;
    snprintf(f->operation, sizeof f->operation, "%s", operation);
}

static double dot(enum precision precision, const double *x, const real *y, size_t n)
{
    double acc[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            acc[k] += rounding_factor(precision, x[i + k]) * rounding_factor(precision, (double)y[i + k]);
    for (; i < n; i++)
        acc[0] += rounding_factor(precision, x[i]) * rounding_factor(precision, (double)y[i]);
    return ((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7]));
}

/* forward: y = x W + b, W (in,out), so dx = dy W^T */
static void back_linear(struct job *j, double *dx, const double *dy, const real *w, size_t in, size_t out)
{
    double terms = 0;
    for (size_t t = 0; t < j->N; t++)
        for (size_t i = 0; i < in; i++) {
            dx[t * in + i] = dot(j->g->config.precision, dy + t * out, w + i * out, out);
            for (size_t o = 0; o < out; o++)
                terms += pow(dy[t * out + o] * (double)w[i * out + o], 2);
        }
    j->tolerance *= cancelling(j, terms, length_of(dx, j->N, in, in));
}

static double gelu_slope(double x)
{
    const double k = sqrt(2 / acos(-1.0)), u = k * (x + 0.044715 * x * x * x), th = tanh(u);
    return (1 + th) / 2 + x / 2 * (1 - th * th) * k * (1 + 3 * 0.044715 * x * x);
}

/* forward: y = (x - mean) rstd gain + bias; dx += rstd (g - mean(g) - xhat mean(g xhat)), g = dy gain. Where those
 * terms cancel, rounding weighs more: the tolerance grows by as much. */
static void back_layernorm(struct job *j, double *dx, const double *dy, const real *x, const real *gain)
{
    const size_t C = j->g->config.n_embd;
    double terms = 0, left = 0;
    for (size_t t = 0; t < j->N; t++) {
        const real *x_t = x + t * C;
        double mean = 0, var = 0, g_mean = 0, gx_mean = 0;
        for (size_t c = 0; c < C; c++)
            mean += (double)x_t[c] / (double)C;
        for (size_t c = 0; c < C; c++)
            var += ((double)x_t[c] - mean) * ((double)x_t[c] - mean) / (double)C;
        const double rstd = 1 / sqrt(var + j->g->config.norm_epsilon);
        for (size_t c = 0; c < C; c++) {
            const double g = dy[t * C + c] * (double)gain[c];
            g_mean += g / (double)C;
            gx_mean += g * ((double)x_t[c] - mean) * rstd / (double)C;
        }
        for (size_t c = 0; c < C; c++) {
            const double g = dy[t * C + c] * (double)gain[c], xhat = ((double)x_t[c] - mean) * rstd;
            const double d = rstd * (g - g_mean - xhat * gx_mean);
            terms += rstd * rstd * (g * g + g_mean * g_mean + xhat * gx_mean * xhat * gx_mean);
            dx[t * C + c] += d;
            left += dx[t * C + c] * dx[t * C + c];
        }
    }
    j->tolerance *= fmax(1, sqrt(terms / (left + 1e-300)));
}

static void zero(double *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

/* forward: att = attention(q, k, v). Returns the largest sum of a score's terms, whose rounding the exponential
 * magnifies; terms[part] becomes the squared length of what is summed for queries, keys and values, before it cancels.
 * Assigns the head's columns of dqkv. */
static double back_attention(const struct job *j, enum precision how, const real *qkv, size_t head, double terms[3])
{
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, hs = c->head_size, T = j->T, at = head * hs;
    const double scale = 1 / sqrt((double)hs);
    const struct dropout drop = dropout_of(j, RNG_DROP_ATTENTION);
    double blur = 0;
    terms[0] = terms[1] = terms[2] = 0;
    for (size_t row = 0; row < 3 * j->N; row++)
        zero(j->dqkv + row * C + at, hs);
    for (size_t row = 0; row < j->N; row++) {
        const size_t b = row / T, i = row % T;
        const struct attention_interval seen = attention_shape_keys(c->declared, c->window, T, T, i);
        const real *q = qkv + row * 3 * C + at, *keys = qkv + b * T * 3 * C + C + at, *values = keys + C;
        const double *dy = j->datt + row * C + at;
        double *dq = j->dqkv + row * 3 * C + at, *dkeys = j->dqkv + b * T * 3 * C + C + at, *dvalues = dkeys + C;
        double m = -INFINITY, l = 0, mean = 0;
        if (i == 0)
            dropout_mask(&lane_alone, j->keep, &drop, b, head, 0, T * T);
        const real *keep = j->keep + i * T;
        for (size_t k = seen.begin; k < seen.end; k++) {
            double s = 0, size = 0, dp = 0;
            for (size_t n = 0; n < hs; n++) {
                const double key = rounding_factor(how, (double)keys[k * 3 * C + n]);
                const double term = rounding_factor(how, (double)q[n]) * key * scale;
                s += term;
                size += fabs(term);
                dp += rounding_factor(how, dy[n]) * rounding_factor(how, (double)values[k * 3 * C + n]);
            }
            j->p[k] = s;
            j->dp[k] = dp * (double)keep[k];
            m = fmax(m, s);
            blur = fmax(blur, size);
        }
        for (size_t k = seen.begin; k < seen.end; k++)
            l += j->p[k] = exp(j->p[k] - m);
        for (size_t k = seen.begin; k < seen.end; k++)
            mean += (j->p[k] /= l) * j->dp[k];
        for (size_t k = seen.begin; k < seen.end; k++) {
            const double ds = j->p[k] * (j->dp[k] - mean) * scale, kept = j->p[k] * (double)keep[k];
            const double ds_size = j->p[k] * (fabs(j->dp[k]) + fabs(mean)) * scale;
            for (size_t n = 0; n < hs; n++) {
                const double key = rounding_factor(how, (double)keys[k * 3 * C + n]);
                const double query = rounding_factor(how, (double)q[n]), from = rounding_factor(how, dy[n]);
                dq[n] += ds * key;
                dkeys[k * 3 * C + n] += ds * query;
                dvalues[k * 3 * C + n] += kept * from;
                terms[0] += pow(ds_size * key, 2);
                terms[1] += pow(ds_size * query, 2);
                terms[2] += pow(kept * from, 2);
            }
        }
    }
    return blur;
}

/* Weight and bias of y = a W + b: dW = a^T dy, db = sum dy. `found` and `found_bias` may be NULL. */
static void compare_linear(struct job *j, const char *operation, const real *found, const real *found_bias,
                           const real *a, const double *dy, size_t in, size_t out)
{
    const enum precision how = j->g->config.precision;
    double terms = 0, bias_terms = 0;
    zero(j->dw, in * out);
    for (size_t t = 0; t < j->N; t++)
        for (size_t i = 0; i < in; i++)
            for (size_t o = 0; o < out; o++) {
                const double term = rounding_factor(how, (double)a[t * in + i]) * rounding_factor(how, dy[t * out + o]);
                j->dw[i * out + o] += term;
                terms += term * term;
            }
    if (!same_sum(j, found, j->dw, in, out, terms))
        blame(j, operation, VERDICT_NOWHERE, "of the weights");
    zero(j->dw, out);
    for (size_t t = 0; t < j->N; t++)
        for (size_t o = 0; o < out; o++) {
            j->dw[o] += dy[t * out + o];
            bias_terms += dy[t * out + o] * dy[t * out + o];
        }
    if (found_bias && !same_sum(j, found_bias, j->dw, 1, out, bias_terms))
        blame(j, operation, VERDICT_NOWHERE, "of the bias");
}

/* forward: y = xhat gain + bias, so dgain = sum dy xhat, dbias = sum dy */
static void compare_layernorm(struct job *j, const char *operation, const real *found, const real *found_bias,
                              const real *x, const double *dy)
{
    const size_t C = j->g->config.n_embd;
    double *const dgain = j->dw, *const dbias = j->dw + C, gain_terms = 0, bias_terms = 0;
    zero(j->dw, 2 * C);
    for (size_t t = 0; t < j->N; t++) {
        const real *x_t = x + t * C;
        double mean = 0, var = 0;
        for (size_t c = 0; c < C; c++)
            mean += (double)x_t[c] / (double)C;
        for (size_t c = 0; c < C; c++)
            var += ((double)x_t[c] - mean) * ((double)x_t[c] - mean) / (double)C;
        const double rstd = 1 / sqrt(var + j->g->config.norm_epsilon);
        for (size_t c = 0; c < C; c++) {
            const double term = dy[t * C + c] * ((double)x_t[c] - mean) * rstd;
            dgain[c] += term;
            dbias[c] += dy[t * C + c];
            gain_terms += term * term;
            bias_terms += dy[t * C + c] * dy[t * C + c];
        }
    }
    if (C > 2 && !same_sum(j, found, dgain, 1, C, gain_terms)) /* of fewer channels xhat is rounding, or signs */
        blame(j, operation, VERDICT_NOWHERE, "of the gain");
    if (found_bias && !same_sum(j, found_bias, dbias, 1, C, bias_terms))
        blame(j, operation, VERDICT_NOWHERE, "of the bias");
}

/* The MLP half: dout to dmid. */
static bool compare_mlp(struct job *j, const struct block_params *p, const struct block_params *g,
                        const struct block_acts *a)
{
    const size_t C = j->g->config.n_embd, N = j->N;
    double *const dbranch = j->dln1; /* not yet in use */
    for (size_t k = 0; k < N * C; k++) {
        j->dmid[k] = (double)j->dout[k];
        dbranch[k] = j->dmid[k] * (double)j->keep_mlp[k];
    }
    back_linear(j, j->dgelu, dbranch, p->fc_out, 4 * C, C);
    for (size_t k = 0; k < 4 * N * C; k++)
        j->dfc[k] = j->dgelu[k] * gelu_slope((double)a->fc[k]);
    compare_linear(j, "W_out", g->fc_out, g->fc_out_bias, a->gelu, dbranch, 4 * C, C);
    const bool right = same(j, j->w->dfc, j->dfc, N, 4 * C, 4 * C);
    if (!right)
        blame(j, "GELU", VERDICT_NOWHERE, "of its input");
    compare_linear(j, "W_fc", g->fc, g->fc_bias, a->ln2, j->dfc, C, 4 * C);
    back_linear(j, j->dln2, j->dfc, p->fc, C, 4 * C);
    if (right)
        compare_layernorm(j, "LayerNorm 2", g->ln2_gain, g->ln2_bias, a->mid, j->dln2);
    back_layernorm(j, j->dmid, j->dln2, a->mid, p->ln2_gain);
    return right;
}

/* One head's gradients of queries, keys and values, worked out with factors as `how` says. In bf16 weights and the
 * gradients of scores are rounded on top of that, each on its own: their sum errs by no more than the length of the
 * terms. Returns the largest tolerance. */
static double compare_head(struct job *j, enum precision how, const real *qkv, size_t head, bool right[3])
{
    const size_t C = j->g->config.n_embd, hs = j->g->config.head_size;
    const double before = j->tolerance, rounding = how == PRECISION_BF16 ? BF16_EPSILON / 2 : 0;
    double terms[3], most = 0;
    const double blur = back_attention(j, how, qkv, head, terms);
    for (size_t part = 0; part < 3; part++) {
        const size_t at = part * C + head * hs;
        const double cancelled = fmax(1, sqrt(terms[part]) / length_of(j->dqkv + at, j->N, 3 * C, hs));
        j->tolerance = (before * (1 + blur) + rounding) * cancelled;
        most = fmax(most, j->tolerance);
        right[part] = same(j, j->w->dqkv + at, j->dqkv + at, j->N, 3 * C, hs);
    }
    j->tolerance = before;
    return most;
}

/* The attention half: dmid to dx. */
static void compare_attention(struct job *j, const struct block_params *p, const struct block_params *g,
                              const struct block_acts *a)
{
    static const char *const parts[] = {"of the queries", "of the keys", "of the values"};
    const struct config *c = &j->g->config;
    const size_t C = c->n_embd, N = j->N;
    double *const dbranch = j->dln1; /* not yet in use */
    for (size_t k = 0; k < N * C; k++)
        dbranch[k] = j->dmid[k] * (double)j->keep_residual[k];
    compare_linear(j, "LayerNorm 2 or W_O", g->proj, g->proj_bias, a->att, dbranch, C, C);
    back_linear(j, j->datt, dbranch, p->proj, C, C);
    double most = 0;
    bool right = true;
    for (size_t head = 0; head < c->n_head; head++) {
        bool of_part[3];
        double tolerance = compare_head(j, c->precision, a->qkv, head, of_part);
        /* The reference attention, which keeps its weights, is fp32 in every model. */
        if (c->precision == PRECISION_BF16 && !(of_part[0] && of_part[1] && of_part[2]))
            tolerance = compare_head(j, PRECISION_FP32, a->qkv, head, of_part);
        most = fmax(most, tolerance);
        for (size_t part = 0; part < 3; part++)
            if (!of_part[part]) {
                right = false;
                blame(j, "attention", head, parts[part]);
            }
    }
    j->tolerance = most;
    if (!right) /* what follows is built on it */
        return;
    compare_linear(j, "W_QKV", g->qkv, g->qkv_bias, a->ln1, j->dqkv, C, 3 * C);
    back_linear(j, j->dln1, j->dqkv, p->qkv, C, 3 * C);
    compare_layernorm(j, "LayerNorm 1", g->ln1_gain, g->ln1_bias, j->x, j->dln1);
    memcpy(j->dx, j->dmid, N * C * sizeof *j->dx);
    back_layernorm(j, j->dx, j->dln1, j->x, p->ln1_gain);
    if (!same(j, j->w->dres, j->dx, N, C, C))
        blame(j, "LayerNorm 1", VERDICT_NOWHERE, "of the block's input");
}

static void check_block(struct job *j)
{
    const struct block_params p = block_params(&j->g->table, j->g->params, j->layer),
                              g = block_params(&j->g->table, j->grads, j->layer);
    const size_t n = j->N * j->g->config.n_embd;
    draw_mask(j, j->keep_mlp, RNG_DROP_MLP);
    draw_mask(j, j->keep_residual, RNG_DROP_RESIDUAL);
    memset(j->grads, 0, j->g->table.size * sizeof *j->grads);
    memcpy(j->w->dres, j->dout, n * sizeof *j->dout);
    team_run(j->w->team, block_lane, j);
    j->tolerance = NEAR;
    if (compare_mlp(j, &p, &g, &j->w->block[j->layer]))
        compare_attention(j, &p, &g, &j->w->block[j->layer]);
}

enum status derivative_check(struct verdict *v, const struct gpt *g, struct work *w, const bool *skip, uint64_t seed,
                             struct error *err)
{
    struct job j = {
        .v = v, .g = g, .w = w, .B = w->B < 2 ? 1 : 2, .T = w->T < DERIVATIVE_LONGEST ? w->T : DERIVATIVE_LONGEST};
    j.N = j.B * j.T;
    struct arena arena = {0};
    layout(&j, &arena);
    const enum status s = arena_place(&arena, err);
    if (s)
        return s;
    layout(&j, &arena);
    const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 8};
    for (size_t k = 0; k < j.N * g->config.n_embd; k++) {
        j.x[k] = (real)rng_normal(&site, (uint32_t)(2 * k));
        j.dout[k] = (real)rng_normal(&site, (uint32_t)(2 * k + 1));
    }
    const size_t before = v->findings;
    /* As in evaluation, and where it differs, as in training: at another step, of later rows. */
    for (int mode = 0; mode <= (g->config.dropout > 0) && v->findings == before; mode++) {
        j.pass = (struct gpt_pass){.training = mode, .seed = seed, .step = 3, .first_row = 5};
        for (j.layer = 0; j.layer < g->config.n_layer; j.layer++)
            if (!skip || !skip[j.layer])
                check_block(&j);
    }
    arena_free(&arena);
    const char *rough = j.too_rough ? "; scores too large to judge some" : "";
    bool skipped = false;
    for (size_t layer = 0; skip && layer < g->config.n_layer; layer++)
        skipped |= skip[layer];
    if (v->findings > before)
        verdict_say(v, "backward", VERDICT_FOUND, 0, "%zu gradients are not the derivative of their operation",
                    v->findings - before);
    else if (skipped && j.compared == 0)
        verdict_say(v, "backward", VERDICT_SKIPPED, 0, "no block's forward pass is as its formulas say");
    else
        verdict_say(v, "backward", VERDICT_CLEAN, 0,
                    "%zu gradients worked out again in double: all as they should be%s", j.compared, rough);
    return STATUS_OK;
}
