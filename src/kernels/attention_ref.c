#include "kernels/attention_ref.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/attention_fault.h"
#include "kernels/gemm.h"
#include "kernels/softmax.h"
#include "kernels/variants.h"
#include "kernels/vmath.h"

/* Rows that go through gemm together in visible_product. */
#define ROWS 16

size_t attention_ref_scratch(const struct attention_shape *s)
{
    return 2 * s->T_q * s->T_k;
}

/* out_i = alpha * sum over the keys j that query i sees of w_ij x_j.
 *
 * A plain product would multiply the zeros of w with every x_j, and zero times NaN is NaN: so keys that all ROWS
 * queries of a strip see go through gemm, and the few others through a loop over exactly those that are visible.
 *   out (T_q,hs) by ld_out   w (T_q,T_k)   x (T_k,hs) by ld_x */
VARIANTS(static void, visible_product,
         (const struct lane *lane, real *out, size_t ld_out, const real *w, const real *x, size_t ld_x, real alpha,
          size_t h, enum attention_stage stage, const struct attention_shape *s),
         (lane, out, ld_out, w, x, ld_x, alpha, h, stage, s))
{
    (void)lane; /* it chose this variant */
    for (size_t i0 = 0; i0 < s->T_q; i0 += ROWS) {
        const size_t i1 = i0 + ROWS < s->T_q ? i0 + ROWS : s->T_q;
        struct attention_interval common = attention_fault_keys(s, h, stage, i0);
        for (size_t i = i0 + 1; i < i1; i++) {
            const struct attention_interval keys = attention_fault_keys(s, h, stage, i);
            common.begin = keys.begin > common.begin ? keys.begin : common.begin;
            common.end = keys.end < common.end ? keys.end : common.end;
        }
        if (common.end < common.begin)
            common.end = common.begin;
        gemm(GEMM_PLAIN, GEMM_PLAIN, i1 - i0, s->hs, common.end - common.begin, alpha, w + i0 * s->T_k + common.begin,
             s->T_k, x + common.begin * ld_x, ld_x, 0, out + i0 * ld_out, ld_out);
        for (size_t i = i0; i < i1; i++) {
            const struct attention_interval keys = attention_fault_keys(s, h, stage, i);
            for (size_t j = keys.begin; j < keys.end; j++) {
                if (j == common.begin)
                    j = common.end;
                if (j >= keys.end)
                    break;
                const real w_ij = alpha * w[i * s->T_k + j];
                for (size_t c = 0; c < s->hs; c++)
                    out[i * ld_out + c] += w_ij * x[j * ld_x + c];
            }
        }
    }
}

static void head_forward(const struct lane *lane, real *y, const struct attention_rows *rows, real *p, const real *q,
                         const real *k, const real *v, const struct attention_shape *s, const struct dropout *drop,
                         size_t b, size_t h, real *scratch)
{
    const size_t T_k = s->T_k;
    /* S = scale Q K^T; entries that the rule hides are computed and never read */
    gemm(GEMM_PLAIN, GEMM_TRANSPOSED, s->T_q, T_k, s->hs, s->scale, q, s->q_stride, k, s->k_stride, 0, p, T_k);
    /* P = softmax(S) over visible keys, exactly 0 elsewhere */
    for (size_t i = 0; i < s->T_q; i++) {
        const struct attention_interval keys = attention_fault_keys(s, h, ATTENTION_SCORES, i);
        real *p_i = p + i * T_k;
        attention_fault_scores(p_i, s, h, i);
        const struct softmax_stats stats = softmax_row(p_i + keys.begin, keys.end - keys.begin);
        memset(p_i, 0, keys.begin * sizeof *p_i);
        memset(p_i + keys.end, 0, (T_k - keys.end) * sizeof *p_i);
        attention_fault_weights(p_i, s, h, i);
        if (!rows)
            continue;
        const size_t row = (b * s->H + h) * s->T_q + i;
        rows->lse[row] = stats.lse;
        rows->entropy[row] = stats.entropy;
        rows->max_score[row] = stats.max;
    }
    /* Y = drop(P) V */
    const real *kept = p;
    if (drop) {
        dropout_mask(lane, scratch, drop, b, h, 0, s->T_q * T_k);
        for (size_t i = 0; i < s->T_q * T_k; i++)
            scratch[i] *= p[i];
        kept = scratch;
    }
    visible_product(lane, y, s->y_stride, kept, v, s->v_stride, 1, h, ATTENTION_VALUES, s);
}

void attention_ref_forward(const struct lane *lane, real *restrict y, const struct attention_rows *rows,
                           real *restrict weights, const real *q, const real *k, const real *v,
                           const struct attention_shape *s, const struct dropout *drop, real *scratch)
{
    attention_shape_assert(s);
    if (drop && drop->p == 0)
        drop = NULL;
    scratch += (size_t)lane->index * attention_ref_scratch(s);
    const size_t group = s->H / s->H_kv;
    const struct span pairs = lane_span(lane, s->B * s->H, 1);
    for (size_t pair = pairs.begin; pair < pairs.end; pair++) {
        const size_t b = pair / s->H, h = pair % s->H, h_kv = h / group;
        head_forward(lane, y + b * s->y_batch + h * s->hs, rows, weights + pair * s->T_q * s->T_k,
                     q + b * s->q_batch + h * s->hs, k + b * s->k_batch + h_kv * s->hs,
                     v + b * s->v_batch + h_kv * s->hs, s, drop, b, h, scratch);
    }
}

VARIANTS(static void, head_backward,
         (const struct lane *lane, real *dq, real *dk, real *dv, const real *dy, const real *p, const real *q,
          const real *k, const real *v, const struct attention_shape *s, const struct dropout *drop, size_t b, size_t h,
          real *scratch, bool first_of_group),
         (lane, dq, dk, dv, dy, p, q, k, v, s, drop, b, h, scratch, first_of_group))
{
    (void)lane;
    const size_t T_k = s->T_k;
    const real accumulate = first_of_group ? 0 : 1;
    real *ds = scratch, *mask = scratch + s->T_q * T_k;
    /* forward: Y = drop(P) V, so d drop(P) = dY V^T; hidden entries are computed and never read */
    gemm(GEMM_PLAIN, GEMM_TRANSPOSED, s->T_q, T_k, s->hs, 1, dy, s->y_stride, v, s->v_stride, 0, ds, T_k);
    if (drop)
        dropout_mask(lane, mask, drop, b, h, 0, s->T_q * T_k);
    for (size_t i = 0; i < s->T_q; i++) {
        const struct attention_interval keys = attention_fault_keys(s, h, ATTENTION_BACKWARD, i);
        const real *p_i = p + i * T_k;
        real *ds_i = ds + i * T_k, *mask_i = mask + i * T_k;
        if (drop)
            for (size_t j = keys.begin; j < keys.end; j++)
                ds_i[j] = mask_i[j] == 0 ? 0 : ds_i[j] * mask_i[j]; /* now dP */
        if (attention_fault_unmasked_ds(ds_i, q + i * s->q_stride, k, s, h, i))
            continue;
        /* forward: P = softmax(S), so dS_ij = P_ij (dP_ij - sum_k P_ik dP_ik) */
        const real mean = vmath_dot(p_i + keys.begin, ds_i + keys.begin, keys.end - keys.begin);
        for (size_t j = keys.begin; j < keys.end; j++)
            ds_i[j] = p_i[j] * (ds_i[j] - mean);
        memset(ds_i, 0, keys.begin * sizeof *ds_i);
        memset(ds_i + keys.end, 0, (T_k - keys.end) * sizeof *ds_i);
    }
    /* forward: S = scale Q K^T */
    visible_product(lane, dq, s->q_stride, ds, k, s->k_stride, s->scale, h, ATTENTION_BACKWARD, s);
    gemm(GEMM_TRANSPOSED, GEMM_PLAIN, T_k, s->hs, s->T_q, s->scale, ds, T_k, q, s->q_stride, accumulate, dk,
         s->k_stride);
    /* forward: Y = drop(P) V */
    const real *kept = p;
    if (drop) {
        for (size_t i = 0; i < s->T_q * T_k; i++)
            mask[i] *= p[i];
        kept = mask;
    }
    kept = attention_fault_values(mask, kept, s, h);
    gemm(GEMM_TRANSPOSED, GEMM_PLAIN, T_k, s->hs, s->T_q, 1, kept, T_k, dy, s->y_stride, accumulate, dv, s->v_stride);
}

void attention_ref_backward(const struct lane *lane, real *restrict dq, real *restrict dk, real *restrict dv,
                            const real *dy, const real *weights, const real *q, const real *k, const real *v,
                            const struct attention_shape *s, const struct dropout *drop, real *scratch)
{
    attention_shape_assert(s);
    if (drop && drop->p == 0)
        drop = NULL;
    scratch += (size_t)lane->index * attention_ref_scratch(s);
    const size_t group = s->H / s->H_kv;
    /* Heads that share keys and values add to the same dk and dv: one lane does them all, in order. */
    const struct span groups = lane_span(lane, s->B * s->H_kv, 1);
    for (size_t g = groups.begin; g < groups.end; g++)
        for (size_t r = 0; r < group; r++) {
            const size_t b = g / s->H_kv, h_kv = g % s->H_kv, h = h_kv * group + r;
            const size_t q_at = b * s->q_batch + h * s->hs, k_at = b * s->k_batch + h_kv * s->hs,
                         v_at = b * s->v_batch + h_kv * s->hs;
            head_backward(lane, dq + q_at, dk + k_at, dv + v_at, dy + b * s->y_batch + h * s->hs,
                          weights + (b * s->H + h) * s->T_q * s->T_k, q + q_at, k + k_at, v + v_at, s, drop, b, h,
                          scratch, r == 0);
        }
}
