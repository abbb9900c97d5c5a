#include "lab/worked.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/attention.h"
#include "kernels/attention_ref.h"
#include "kernels/gemm.h"

/* The kernels have one head size for q, k and v: narrower rows are filled up with zeros, which add nothing to a score
 * and are a result of zeros. */
struct padded {
    size_t hs;
    real *q, *k, *v, *y, *dq, *dk, *dv, *dy; /* (T,hs) */
    real *max, *share, *lse, *max_score;     /* (T) */
    real *tiled, *textbook, *textbook_y;     /* scratch of both, and the textbook's result */
};

static struct attention_shape shape_of(const struct worked_input *in, size_t hs, real scale,
                                       const enum attention_rule *rule)
{
    const size_t all = in->T * hs;
    return (struct attention_shape){.B = 1,
                                    .H = 1,
                                    .H_kv = 1,
                                    .hs = hs,
                                    .T_q = in->T,
                                    .T_k = in->T,
                                    .q_batch = all,
                                    .k_batch = all,
                                    .v_batch = all,
                                    .y_batch = all,
                                    .q_stride = hs,
                                    .k_stride = hs,
                                    .v_stride = hs,
                                    .y_stride = hs,
                                    .scale = scale,
                                    .rules = rule};
}

static real *take(struct arena *a, size_t n)
{
    return arena_take(a, n, sizeof(real));
}

static void layout_rule(struct worked_rule *r, const struct worked_input *in, struct arena *a)
{
    const size_t T = in->T, C = in->C;
    r->weights = take(a, T * T);
    r->undivided = take(a, T * T);
    r->y = take(a, T * in->d_v);
    r->entropy = take(a, T);
    r->dweights = take(a, T);
    r->dscaled = take(a, T);
    r->dq = take(a, T * in->d_k);
    r->dk = take(a, T * in->d_k);
    r->dv = take(a, T * in->d_v);
    r->dwq = take(a, C * in->d_k);
    r->dwk = take(a, C * in->d_k);
    r->dwv = take(a, C * in->d_v);
}

static void layout(struct worked *w, struct padded *b)
{
    const struct worked_input *in = &w->in;
    struct arena *a = &w->arena;
    const enum attention_rule full = ATTENTION_FULL;
    const size_t T = in->T;
    b->hs = in->d_k > in->d_v ? in->d_k : in->d_v;
    const struct attention_shape shape = shape_of(in, b->hs, 1, &full);
    w->q = take(a, T * in->d_k);
    w->k = take(a, T * in->d_k);
    w->v = take(a, T * in->d_v);
    w->scores = take(a, T * T);
    layout_rule(&w->full, in, a);
    layout_rule(&w->causal, in, a);
    real **const rows[] = {&b->q, &b->k, &b->v, &b->y, &b->dq, &b->dk, &b->dv, &b->dy, &b->textbook_y};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = take(a, T * b->hs);
    real **const each[] = {&b->max, &b->share, &b->lse, &b->max_score};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        *each[i] = take(a, T);
    b->tiled = take(a, attention_scratch(&shape, 1));
    b->textbook = take(a, attention_ref_scratch(&shape));
}

static void widen(real *wide, size_t hs, const real *narrow, size_t width, size_t T)
{
    for (size_t t = 0; t < T; t++)
        memcpy(wide + t * hs, narrow + t * width, width * sizeof(real));
}

static void narrow_down(real *narrow, size_t width, const real *wide, size_t hs, size_t T)
{
    for (size_t t = 0; t < T; t++)
        memcpy(narrow + t * width, wide + t * hs, width * sizeof(real));
}

/* dW = x^T d, for the matrix that made the rows whose gradient is d (T,width). */
static void weight_gradient(real *dw, const struct worked_input *in, const real *d, size_t width)
{
    gemm(GEMM_TRANSPOSED, GEMM_PLAIN, in->C, width, in->T, 1, in->x, in->C, d, width, 0, dw, width);
}

/* The row of the one query: dL/dweight_j = dy . v_j, and through the softmax
 * dL/dscaled_j = weight_j (dL/dweight_j - sum_i weight_i dL/dweight_i). */
static void row_gradient(struct worked_rule *r, const struct worked *w)
{
    const size_t T = w->in.T, d_v = w->in.d_v;
    const real *weights = r->weights + w->in.query * T;
    real mean = 0;
    for (size_t j = 0; j < T; j++) {
        r->dweights[j] = 0;
        for (size_t c = 0; c < d_v && j < r->seen; c++)
            r->dweights[j] += w->v[j * d_v + c];
        mean += weights[j] * r->dweights[j];
    }
    for (size_t j = 0; j < T; j++)
        r->dscaled[j] = weights[j] * (r->dweights[j] - mean);
}

static void follow_rule(struct worked *w, struct worked_rule *r, const struct padded *b, enum attention_rule rule)
{
    const struct worked_input *in = &w->in;
    const size_t T = in->T;
    const struct attention_shape one = shape_of(in, b->hs, 1, &rule), s = shape_of(in, b->hs, w->scale, &rule);
    const struct attention_rows rows = {b->lse, r->entropy, b->max_score};
    const struct attention_kept kept = {b->max, b->share};
    r->seen = attention_shape_keys(rule, 0, T, T, in->query).end;
    attention_ref_forward(&lane_alone, b->textbook_y, NULL, r->undivided, b->q, b->k, b->v, &one, NULL, b->textbook);
    attention_ref_forward(&lane_alone, b->textbook_y, NULL, r->weights, b->q, b->k, b->v, &s, NULL, b->textbook);
    attention_forward(&lane_alone, b->y, &rows, &kept, b->q, b->k, b->v, &s, NULL, b->tiled);
    narrow_down(r->y, in->d_v, b->y, b->hs, T);
    for (size_t c = 0; c < in->d_v; c++)
        b->dy[in->query * b->hs + c] = 1;
    attention_backward(&lane_alone, b->dq, b->dk, b->dv, b->dy, b->y, &kept, b->q, b->k, b->v, &s, NULL, b->tiled);
    narrow_down(r->dq, in->d_k, b->dq, b->hs, T);
    narrow_down(r->dk, in->d_k, b->dk, b->hs, T);
    narrow_down(r->dv, in->d_v, b->dv, b->hs, T);
    row_gradient(r, w);
    weight_gradient(r->dwq, in, r->dq, in->d_k);
    weight_gradient(r->dwk, in, r->dk, in->d_k);
    weight_gradient(r->dwv, in, r->dv, in->d_v);
}

static bool finite(const real *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static bool rule_finite(const struct worked_rule *r, const struct worked_input *in)
{
    return finite(r->y, in->T * in->d_v) && finite(r->dwq, in->C * in->d_k) && finite(r->dwk, in->C * in->d_k) &&
           finite(r->dwv, in->C * in->d_v);
}

static void compute(struct worked *w, const struct padded *b)
{
    const struct worked_input *in = &w->in;
    const size_t T = in->T;
    gemm(GEMM_PLAIN, GEMM_PLAIN, T, in->d_k, in->C, 1, in->x, in->C, in->wq, in->d_k, 0, w->q, in->d_k);
    gemm(GEMM_PLAIN, GEMM_PLAIN, T, in->d_k, in->C, 1, in->x, in->C, in->wk, in->d_k, 0, w->k, in->d_k);
    gemm(GEMM_PLAIN, GEMM_PLAIN, T, in->d_v, in->C, 1, in->x, in->C, in->wv, in->d_v, 0, w->v, in->d_v);
    gemm(GEMM_PLAIN, GEMM_TRANSPOSED, T, T, in->d_k, 1, w->q, in->d_k, w->k, in->d_k, 0, w->scores, T);
    widen(b->q, b->hs, w->q, in->d_k, T);
    widen(b->k, b->hs, w->k, in->d_k, T);
    widen(b->v, b->hs, w->v, in->d_v, T);
    follow_rule(w, &w->full, b, ATTENTION_FULL);
    follow_rule(w, &w->causal, b, ATTENTION_CAUSAL);
}

enum status worked_make(struct worked *w, const struct worked_input *in, struct error *err)
{
    assert(in->T > 0 && in->C > 0 && in->d_k > 0 && in->d_v > 0 && in->query < in->T);
    struct padded b;
    *w = (struct worked){.in = *in, .scale = (real)(1 / sqrt((double)in->d_k))};
    layout(w, &b);
    const enum status s = arena_place(&w->arena, err);
    if (s != STATUS_OK)
        return s;
    layout(w, &b);
    compute(w, &b);
    if (finite(w->scores, in->T * in->T) && rule_finite(&w->full, in) && rule_finite(&w->causal, in))
        return STATUS_OK;
    worked_free(w);
    return fail(err, STATUS_NONFINITE, "the numbers grow beyond what fp32 holds (3e38): choose smaller ones");
}

void worked_free(struct worked *w)
{
    arena_free(&w->arena);
    *w = (struct worked){0};
}
