#include "kernels/attention_fault.h"

#include <math.h>

#include "kernels/attention_tile.h"
#include "kernels/vmath.h"

static enum attention_fault fault_of(const struct attention_shape *s, size_t h)
{
    return s->fault_head == ATTENTION_EVERY_HEAD || s->fault_head == h ? s->fault : ATTENTION_FAULT_NONE;
}

/* Whether key `at` + 1 lies in the same tile as key `at`. */
static bool next_in_tile(const struct attention_shape *s, size_t at)
{
    return at + 1 < s->T_k && (at + 1) % attention_tile_keys(s) != 0;
}

struct attention_interval attention_fault_keys(const struct attention_shape *s, size_t h, enum attention_stage stage,
                                               size_t i)
{
    if (s->fault == ATTENTION_FAULT_NONE) /* asked of every row */
        return attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
    const size_t at = s->T_k - s->T_q + i;
    const struct attention_interval all = {0, s->T_k},
                                    right = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
    switch (fault_of(s, h)) {
    case ATTENTION_FAULT_NONE:
        return right;
    case ATTENTION_FAULT_NO_MASK:
    case ATTENTION_FAULT_MINUS_1E4:
    case ATTENTION_FAULT_MINUS_1E9:
        return all;
    case ATTENTION_FAULT_TRANSPOSED:
        return (struct attention_interval){at, s->T_k};
    case ATTENTION_FAULT_ONE_AHEAD:
        return (struct attention_interval){right.begin, at + 2 < s->T_k ? at + 2 : s->T_k};
    case ATTENTION_FAULT_NOT_ITSELF:
        return (struct attention_interval){right.begin < at ? right.begin : at, at};
    case ATTENTION_FAULT_AFTER_SOFTMAX:
        return stage == ATTENTION_VALUES ? right : all;
    case ATTENTION_FAULT_RENORMALISED:
        return stage == ATTENTION_SCORES ? all : right;
    case ATTENTION_FAULT_FORWARD_UNMASKED:
        return stage == ATTENTION_BACKWARD ? right : all;
    case ATTENTION_FAULT_BACKWARD_UNMASKED:
        return stage == ATTENTION_BACKWARD ? all : right;
    case ATTENTION_FAULT_TILE_DIAGONAL:
        return (struct attention_interval){right.begin, right.end + next_in_tile(s, at)};
    case ATTENTION_FAULT_TILE_EDGE:
        return (struct attention_interval){
            right.begin, right.end + (right.end < s->T_k && (i + 1) % attention_tile_queries(s) == 0)};
    case ATTENTION_FAULT_WINDOW_EDGE:
        return (struct attention_interval){right.begin - (right.begin > 0), right.end};
    case ATTENTION_FAULT_TILE_BACKWARD:
        return (struct attention_interval){right.begin,
                                           right.end + (stage == ATTENTION_BACKWARD && next_in_tile(s, at))};
    }
    return right;
}

bool attention_fault_is_of_tiles(enum attention_fault fault)
{
    return fault >= ATTENTION_FAULT_TILE_DIAGONAL;
}

void attention_fault_scores(real *scores, const struct attention_shape *s, size_t h, size_t i)
{
    const enum attention_fault fault = fault_of(s, h);
    if (fault != ATTENTION_FAULT_MINUS_1E4 && fault != ATTENTION_FAULT_MINUS_1E9)
        return;
    const struct attention_interval right = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
    for (size_t j = 0; j < s->T_k; j++)
        if (j < right.begin || j >= right.end)
            scores[j] += fault == ATTENTION_FAULT_MINUS_1E4 ? (real)-1e4 : (real)-1e9;
}

void attention_fault_weights(real *weights, const struct attention_shape *s, size_t h, size_t i)
{
    const enum attention_fault fault = fault_of(s, h);
    if (fault != ATTENTION_FAULT_AFTER_SOFTMAX && fault != ATTENTION_FAULT_RENORMALISED)
        return;
    const struct attention_interval right = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
    real left = 0;
    for (size_t j = 0; j < s->T_k; j++)
        if (j < right.begin || j >= right.end)
            weights[j] = 0;
        else
            left += weights[j];
    if (fault == ATTENTION_FAULT_RENORMALISED && left > 0)
        for (size_t j = right.begin; j < right.end; j++)
            weights[j] /= left;
}

bool attention_fault_unmasked_ds(real *ds, const real *q_i, const real *k, const struct attention_shape *s, size_t h,
                                 size_t i)
{
    const enum attention_fault fault = fault_of(s, h);
    if (fault != ATTENTION_FAULT_AFTER_SOFTMAX && fault != ATTENTION_FAULT_BACKWARD_UNMASKED)
        return false;
    const struct attention_interval right = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
    /* three times over the row: no room to keep it */
    real m = -(real)INFINITY, l = 0, mean = 0;
    for (size_t j = 0; j < s->T_k; j++) {
        const real s_j = s->scale * vmath_dot(q_i, k + j * s->k_stride, s->hs);
        m = s_j > m ? s_j : m;
        if (fault == ATTENTION_FAULT_AFTER_SOFTMAX && (j < right.begin || j >= right.end))
            ds[j] = 0; /* its weight was thrown away */
    }
    for (size_t j = 0; j < s->T_k; j++) {
        const real e_j = vmath_exp(s->scale * vmath_dot(q_i, k + j * s->k_stride, s->hs) - m);
        l += e_j;
        mean += e_j * ds[j];
    }
    for (size_t j = 0; j < s->T_k; j++)
        ds[j] = vmath_exp(s->scale * vmath_dot(q_i, k + j * s->k_stride, s->hs) - m) / l * (ds[j] - mean / l);
    return true;
}

const real *attention_fault_values(real *room, const real *kept, const struct attention_shape *s, size_t h)
{
    if (fault_of(s, h) != ATTENTION_FAULT_FORWARD_UNMASKED)
        return kept;
    for (size_t i = 0; i < s->T_q; i++) {
        const struct attention_interval right = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
        for (size_t j = 0; j < s->T_k; j++)
            room[i * s->T_k + j] = j >= right.begin && j < right.end ? kept[i * s->T_k + j] : 0;
    }
    return room;
}

void attention_fault_bound(real *s, size_t ld, size_t keys, size_t queries, const real *m)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t i = 0; i < queries; i++)
            s[j * ld + i] = s[j * ld + i] > m[i] ? m[i] : s[j * ld + i];
}
