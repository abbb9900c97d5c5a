#include "support/attention_case.h"

#include <assert.h>
#include <math.h>

void attention_case_clear(struct attention_case *c)
{
    const struct attention_shape *s = &c->shape;
    const size_t rows = s->B * s->H * s->T_q;
    c->y = pool_real(&c->pool, c->y_block);
    c->weights = pool_real(&c->pool, rows * s->T_k);
    c->rows.lse = pool_real(&c->pool, rows);
    c->rows.entropy = pool_real(&c->pool, rows);
    c->rows.max_score = pool_real(&c->pool, rows);
    c->kept.max = pool_real(&c->pool, rows);
    c->kept.share = pool_real(&c->pool, rows);
    c->dq = pool_real(&c->pool, c->q_block);
    if (c->layout == ATTENTION_PACKED) {
        c->dk = c->dq + (c->k - c->q);
        c->dv = c->dq + (c->v - c->q);
    } else {
        c->dk = pool_real(&c->pool, c->k_block);
        c->dv = pool_real(&c->pool, c->k_block);
    }
}

static real *input(struct pool *pool, size_t n, uint32_t stream, bool exact)
{
    if (!exact)
        return pool_normal(pool, n, stream, 1);
    real *x = pool_normal(pool, n, stream, 3);
    for (size_t i = 0; i < n; i++)
        x[i] = (real)fmin(8, fmax(-8, round((double)x[i])));
    return x;
}

void attention_case_init(struct attention_case *c, const struct attention_sizes *sizes, enum attention_layout layout,
                         double scores, bool exact, double p)
{
    *c = (struct attention_case){.layout = layout};
    struct attention_shape *s = &c->shape;
    *s = (struct attention_shape){
        .B = sizes->B, .H = sizes->H, .H_kv = sizes->H_kv, .hs = sizes->hs, .T_q = sizes->T_q, .T_k = sizes->T_k};
    assert(s->H <= sizeof c->rules / sizeof *c->rules);
    assert(layout != ATTENTION_PACKED || s->T_q == s->T_k);
    for (size_t h = 0; h < s->H; h++)
        c->rules[h] = h % 2 ? ATTENTION_FULL : ATTENTION_CAUSAL;
    s->rules = c->rules;
    c->drop = (struct dropout){
        .p = p, .site = {.seed = 5, .purpose = RNG_DROP_ATTENTION, .step = 9, .layer = 3}, .first_row = 2};
    const size_t gap = layout == ATTENTION_CACHE ? 3 : 0, room = layout == ATTENTION_CACHE ? 4 : 0;
    const size_t q_width = s->H * s->hs, k_width = s->H_kv * s->hs;
    s->y_stride = q_width + gap;
    s->y_batch = s->T_q * s->y_stride;
    s->q_stride = layout == ATTENTION_PACKED ? q_width + 2 * k_width : q_width + gap;
    s->q_batch = s->T_q * s->q_stride;
    s->k_stride = s->v_stride = layout == ATTENTION_PACKED ? s->q_stride : k_width;
    s->k_batch = s->v_batch = (s->T_k + room) * s->k_stride;
    c->q_block = s->B * s->q_batch;
    c->k_block = s->B * s->k_batch;
    c->y_block = s->B * s->y_batch;
    c->q = input(&c->pool, c->q_block, 1, exact);
    if (layout == ATTENTION_PACKED) {
        c->k = c->q + q_width;
        c->v = c->k + k_width;
    } else {
        c->k = input(&c->pool, c->k_block, 2, exact);
        c->v = pool_normal(&c->pool, c->k_block, 3, 1);
    }
    c->dy = pool_normal(&c->pool, c->y_block, 4, 1);
    /* A product of two such integers is about 9 on average, hs of them about 9 sqrt(hs), the largest three times
     * that; a power of two keeps it exact. */
    s->scale =
        exact ? (real)exp2(round(log2(scores / (27 * sqrt((double)s->hs))))) : (real)(scores / sqrt((double)s->hs));
    attention_case_clear(c);
}

void attention_case_free(struct attention_case *c)
{
    pool_free(&c->pool);
}

/* The oracle's numbers, without gaps: q, y and their gradients (B,T_q,H,hs), k, v and theirs (B,T_k,H_kv,hs). */
struct oracle {
    struct pool pool;
    const struct attention_case *c;
    enum attention_case_fault fault;
    double *q, *k, *v, *dy, *y, *weights, *lse, *entropy, *max_score, *dq, *dk, *dv;
};

/* Rows of `width` reals out of their layout, in double. */
static double *gather(struct pool *pool, const real *x, size_t B, size_t T, size_t batch, size_t stride, size_t width)
{
    double *dense = pool_double(pool, B * T * width);
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < T; t++)
            for (size_t i = 0; i < width; i++)
                dense[(b * T + t) * width + i] = (double)x[b * batch + t * stride + i];
    return dense;
}

static bool visible(const struct oracle *o, size_t h, size_t i, size_t j)
{
    const struct attention_shape *s = &o->c->shape;
    if (s->rules[h] == ATTENTION_FULL)
        return true;
    const size_t here = o->fault == ATTENTION_ALIGNED_TO_THE_START ? i : s->T_k - s->T_q + i;
    if (s->rules[h] == ATTENTION_WINDOW && j + s->window <= here)
        return false;
    if (o->fault == ATTENTION_SEES_ONE_AHEAD)
        return j <= here + 1;
    if (o->fault == ATTENTION_MISSES_ITSELF && here > 0)
        return j < here;
    return j <= here;
}

static double kept(const struct oracle *o, size_t b, size_t h, size_t i, size_t j)
{
    const struct dropout *d = &o->c->drop;
    if (d->p == 0)
        return 1;
    struct rng_site site = d->site;
    site.row = d->first_row + (uint32_t)b + (o->fault == ATTENTION_MASK_ELSEWHERE);
    site.head = (uint32_t)h;
    return rng_bits(&site, (uint32_t)(i * o->c->shape.T_k + j)) / 0x1p32 < d->p ? 0 : 1 / (1 - d->p);
}

static size_t key_head(const struct oracle *o, size_t h)
{
    const struct attention_shape *s = &o->c->shape;
    return o->fault == ATTENTION_HEADS_INTERLEAVED ? h % s->H_kv : h / (s->H / s->H_kv);
}

static void oracle_forward(struct oracle *o)
{
    const struct attention_shape *s = &o->c->shape;
    const double scale = o->fault == ATTENTION_SCALE_MISSING ? 1 : (double)s->scale;
    for (size_t b = 0; b < s->B; b++)
        for (size_t h = 0; h < s->H; h++)
            for (size_t i = 0; i < s->T_q; i++) {
                const size_t row = (b * s->H + h) * s->T_q + i;
                const double *q = o->q + ((b * s->T_q + i) * s->H + h) * s->hs;
                double *y = o->y + ((b * s->T_q + i) * s->H + h) * s->hs, *p = o->weights + row * s->T_k;
                double m = -INFINITY, l = 0, a = 0; /* a = sum_j exp(s_j - m) (s_j - m) */
                for (size_t j = 0; j < s->T_k; j++) {
                    const double *k = o->k + ((b * s->T_k + j) * s->H_kv + key_head(o, h)) * s->hs;
                    p[j] = visible(o, h, i, j) ? scale * oracle_dot(q, k, s->hs) : -INFINITY;
                    m = fmax(m, p[j]);
                }
                for (size_t j = 0; j < s->T_k; j++) {
                    const double z = m == -INFINITY ? -INFINITY : p[j] - m, e = exp(z);
                    const double counted = o->fault == ATTENTION_ENTROPY_AFTER_DROPOUT ? kept(o, b, h, i, j) * e : e;
                    l += p[j] = e;
                    a += counted > 0 ? counted * z : 0;
                }
                for (size_t c = 0; c < s->hs; c++)
                    y[c] = 0;
                for (size_t j = 0; j < s->T_k; j++) {
                    const double *v = o->v + ((b * s->T_k + j) * s->H_kv + key_head(o, h)) * s->hs;
                    p[j] = l > 0 ? p[j] / l : l; /* a row that sees nothing: zeros; NaN stays */
                    for (size_t c = 0; c < s->hs; c++)
                        y[c] += p[j] * kept(o, b, h, i, j) * v[c];
                }
                o->max_score[row] = m;
                o->lse[row] = m + log(l);
                o->entropy[row] = l == 0 ? 0 : log(l) + (o->fault == ATTENTION_ENTROPY_SIGN ? a : -a) / l;
            }
}

/* With P = softmax(S), Y = drop(P) V: dP = drop(dY V^T), dS = P (dP - sum_j P dP), dQ = scale dS K, dK = scale
 * dS^T Q, dV = drop(P)^T dY. */
static void oracle_backward(struct oracle *o)
{
    const struct attention_shape *s = &o->c->shape;
    const double scale = o->fault == ATTENTION_SCALE_MISSING ? 1 : (double)s->scale;
    double *dp = pool_double(&o->pool, s->T_k);
    for (size_t b = 0; b < s->B; b++)
        for (size_t h = 0; h < s->H; h++)
            for (size_t i = 0; i < s->T_q; i++) {
                const size_t at_q = ((b * s->T_q + i) * s->H + h) * s->hs;
                const double *p = o->weights + ((b * s->H + h) * s->T_q + i) * s->T_k;
                double mean = 0;
                for (size_t j = 0; j < s->T_k; j++) {
                    const size_t at_k = ((b * s->T_k + j) * s->H_kv + key_head(o, h)) * s->hs;
                    const double keep = o->fault == ATTENTION_GRADIENT_KEEPS_DROPPED ? 1 : kept(o, b, h, i, j);
                    dp[j] = keep * oracle_dot(o->dy + at_q, o->v + at_k, s->hs);
                    mean += p[j] * dp[j];
                    for (size_t c = 0; c < s->hs; c++)
                        o->dv[at_k + c] += p[j] * keep * o->dy[at_q + c];
                }
                for (size_t j = 0; j < s->T_k; j++) {
                    const size_t at_k = ((b * s->T_k + j) * s->H_kv + key_head(o, h)) * s->hs;
                    const double ds = p[j] * (o->fault == ATTENTION_MEAN_SIGN ? dp[j] + mean : dp[j] - mean);
                    for (size_t c = 0; c < s->hs; c++) {
                        o->dq[at_q + c] += scale * ds * o->k[at_k + c];
                        o->dk[at_k + c] += scale * ds * o->q[at_q + c];
                    }
                }
            }
}

static void oracle_init(struct oracle *o, const struct attention_case *c, enum attention_case_fault fault)
{
    const struct attention_shape *s = &c->shape;
    const size_t q_width = s->H * s->hs, k_width = s->H_kv * s->hs, rows = s->B * s->H * s->T_q;
    *o = (struct oracle){.c = c, .fault = fault};
    o->q = gather(&o->pool, c->q, s->B, s->T_q, s->q_batch, s->q_stride, q_width);
    o->k = gather(&o->pool, c->k, s->B, s->T_k, s->k_batch, s->k_stride, k_width);
    o->v = gather(&o->pool, c->v, s->B, s->T_k, s->v_batch, s->v_stride, k_width);
    o->dy = gather(&o->pool, c->dy, s->B, s->T_q, s->y_batch, s->y_stride, q_width);
    o->y = pool_double(&o->pool, rows * s->hs);
    o->weights = pool_double(&o->pool, rows * s->T_k);
    o->lse = pool_double(&o->pool, rows);
    o->entropy = pool_double(&o->pool, rows);
    o->max_score = pool_double(&o->pool, rows);
    o->dq = pool_double(&o->pool, rows * s->hs);
    o->dk = pool_double(&o->pool, s->B * s->T_k * k_width);
    o->dv = pool_double(&o->pool, s->B * s->T_k * k_width);
}

/* Compares rows in their layout with dense ones; unit as in oracle_error_over, 0: the largest number. */
static double strided_error(const real *x, const double *dense, size_t B, size_t T, size_t batch, size_t stride,
                            size_t width, double unit)
{
    struct pool pool = {0};
    real *got = pool_real(&pool, B * T * width);
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < T; t++)
            for (size_t i = 0; i < width; i++)
                got[(b * T + t) * width + i] = x[b * batch + t * stride + i];
    const double error =
        unit > 0 ? oracle_error_over(got, dense, B * T * width, unit) : oracle_error(got, dense, B * T * width);
    pool_free(&pool);
    return error;
}

/* Whether all that lies outside (B,T,width) within a block is still NaN. */
static bool untouched(const real *x, size_t block, size_t T, size_t batch, size_t stride, size_t width)
{
    for (size_t i = 0; i < block; i++)
        if (!(i % batch < T * stride && i % batch % stride < width) && !isnan(x[i]))
            return false;
    return true;
}

static double largest(const double *x, size_t n)
{
    double size = 0;
    for (size_t i = 0; i < n; i++)
        size = isinf(x[i]) ? size : fmax(size, fabs(x[i]));
    return size;
}

struct attention_errors attention_case_errors(struct attention_case *c, enum attention_case_fault fault)
{
    struct oracle o;
    oracle_init(&o, c, fault);
    oracle_forward(&o);
    oracle_backward(&o);
    const struct attention_shape *s = &c->shape;
    const size_t q_width = s->H * s->hs, k_width = s->H_kv * s->hs, rows = s->B * s->H * s->T_q;
    const double most = 1 + log((double)s->T_k);
    /* dS is as large as dP, which is a dot product of dy and v. */
    const double dp = largest(o.dy, rows * s->hs) * largest(o.v, s->B * s->T_k * k_width), scale = (double)s->scale;
    const double dq = fmax(largest(o.dq, rows * s->hs), scale * dp * largest(o.k, s->B * s->T_k * k_width));
    const double dk = fmax(largest(o.dk, s->B * s->T_k * k_width), scale * dp * largest(o.q, s->B * s->T_q * q_width));
    struct attention_errors e = {
        .y = strided_error(c->y, o.y, s->B, s->T_q, s->y_batch, s->y_stride, q_width, 0),
        .lse = oracle_error_over(c->rows.lse, o.lse, rows, most + largest(o.max_score, rows)),
        .entropy = oracle_error_over(c->rows.entropy, o.entropy, rows, most),
        .max_score = oracle_error(c->rows.max_score, o.max_score, rows),
        .dq = strided_error(c->dq, o.dq, s->B, s->T_q, s->q_batch, s->q_stride, q_width, dq),
        .dk = strided_error(c->dk, o.dk, s->B, s->T_k, s->k_batch, s->k_stride, k_width, dk),
        .dv = strided_error(c->dv, o.dv, s->B, s->T_k, s->v_batch, s->v_stride, k_width, 0),
        .hidden_are_zero = true,
        .gaps_untouched = untouched(c->y, c->y_block, s->T_q, s->y_batch, s->y_stride, q_width),
    };
    if (c->layout != ATTENTION_PACKED)
        e.gaps_untouched = e.gaps_untouched && untouched(c->dq, c->q_block, s->T_q, s->q_batch, s->q_stride, q_width) &&
                           untouched(c->dk, c->k_block, s->T_k, s->k_batch, s->k_stride, k_width) &&
                           untouched(c->dv, c->k_block, s->T_k, s->v_batch, s->v_stride, k_width);
    if (c->weights) {
        e.weights = oracle_error(c->weights, o.weights, rows * s->T_k);
        for (size_t row = 0; row < rows; row++) {
            double sum = 0;
            for (size_t j = 0; j < s->T_k; j++) {
                const real w = c->weights[row * s->T_k + j];
                sum += (double)w;
                if (!visible(&o, row / s->T_q % s->H, row % s->T_q, j) && w != 0)
                    e.hidden_are_zero = false;
            }
            e.row_sum = fmax(e.row_sum, isnan(sum) ? INFINITY : fabs(sum - 1));
        }
    }
    pool_free(&o.pool);
    return e;
}

static double oracle_loss(void *context)
{
    struct oracle *o = context;
    const struct attention_shape *s = &o->c->shape;
    oracle_forward(o);
    return oracle_dot(o->dy, o->y, s->B * s->T_q * s->H * s->hs);
}

double attention_oracle_slope_error(struct attention_case *c, enum attention_case_fault fault)
{
    struct oracle o;
    oracle_init(&o, c, fault);
    oracle_forward(&o);
    oracle_backward(&o);
    const struct attention_shape *s = &c->shape;
    const size_t q_size = s->B * s->T_q * s->H * s->hs, k_size = s->B * s->T_k * s->H_kv * s->hs;
    double *const inputs[] = {o.q, o.k, o.v}, *const gradients[] = {o.dq, o.dk, o.dv};
    double worst = 0;
    for (size_t t = 0; t < 3; t++) {
        const size_t n = t == 0 ? q_size : k_size;
        double *slope = pool_double(&o.pool, n);
        oracle_slopes(slope, inputs[t], n, oracle_loss, &o);
        const double size = largest(slope, n);
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(slope[i] - gradients[t][i]) / size);
    }
    pool_free(&o.pool);
    return worst;
}
