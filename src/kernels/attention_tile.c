#include "kernels/attention_tile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/clones.h"
#include "kernels/vmath.h"

/* For functions that stand in one of several clones. */
#define INSIDE static inline __attribute__((always_inline))

void attention_tile_assert(const struct attention_shape *s)
{
    attention_shape_assert(s);
    assert(s->tile <= ATTENTION_TILE_MOST);
}

void attention_tile_begin(const struct attention_tile_state *state, size_t queries)
{
    const size_t whole = (queries + VMATH_LANES - 1) / VMATH_LANES * VMATH_LANES;
    for (size_t i = 0; i < whole; i++) {
        state->m[i] = -(real)INFINITY;
        state->l[i] = state->a[i] = 0;
        state->moved[i] = 1;
    }
}

INSIDE void fill(real *x, size_t begin, size_t end, real value)
{
    for (size_t j = begin; j < end; j++)
        x[j] = value;
}

/* The largest score of each of VMATH_LANES queries over rows [begin, end) of keys, begin < end. A NaN may pass unseen:
 * it spoils the sums anyway. */
INSIDE void largest(real m[VMATH_LANES], const real *s, size_t ld, size_t begin, size_t end)
{
    enum { CHAINS = 4 };
    real acc[CHAINS][VMATH_LANES];
    for (size_t n = 0; n < CHAINS; n++)
        for (size_t k = 0; k < VMATH_LANES; k++)
            acc[n][k] = -(real)INFINITY;
    size_t j = begin;
    for (; j + CHAINS <= end; j += CHAINS)
        for (size_t n = 0; n < CHAINS; n++)
            for (size_t k = 0; k < VMATH_LANES; k++)
                acc[n][k] = s[(j + n) * ld + k] > acc[n][k] ? s[(j + n) * ld + k] : acc[n][k];
    for (; j < end; j++)
        for (size_t k = 0; k < VMATH_LANES; k++)
            acc[0][k] = s[j * ld + k] > acc[0][k] ? s[j * ld + k] : acc[0][k];
    for (size_t k = 0; k < VMATH_LANES; k++) {
        const real x = acc[0][k] > acc[1][k] ? acc[0][k] : acc[1][k], y = acc[2][k] > acc[3][k] ? acc[2][k] : acc[3][k];
        m[k] = x > y ? x : y;
    }
}

/* Hides from VMATH_LANES queries what they do not see of rows [begin, end) of keys. */
INSIDE void hide(real *s, size_t ld, const struct attention_tile *t, size_t first, size_t begin, size_t end)
{
    for (size_t k = 0; k < VMATH_LANES; k++) {
        const size_t i = first + k;
        const size_t seen = i < t->queries ? t->begin[i] : end, over = i < t->queries ? t->end[i] : end;
        for (size_t j = begin; j < end; j++)
            if (j < seen || j >= over)
                s[j * ld + k] = -(real)INFINITY;
    }
}

/* Queries first .. first+VMATH_LANES-1, one in each lane of a vector, down the keys. */
INSIDE void softmax_lanes(real *s, size_t ld, const struct attention_tile *t, const struct attention_tile_state *state,
                          size_t first, bool entropy)
{
    size_t begin = t->keys, end = 0;
    for (size_t i = first; i < first + VMATH_LANES && i < t->queries; i++)
        if (t->begin[i] < t->end[i]) {
            begin = t->begin[i] < begin ? t->begin[i] : begin;
            end = t->end[i] > end ? t->end[i] : end;
        }
    if (begin > end)
        begin = end;
    if (!t->whole || first + VMATH_LANES > t->queries)
        hide(s, ld, t, first, begin, end);
    real here[VMATH_LANES], from[VMATH_LANES], moved[VMATH_LANES];
    largest(here, s, ld, begin, end);
    for (size_t k = 0; k < VMATH_LANES; k++) {
        const real before = state->m[first + k], m = here[k] > before ? here[k] : before;
        /* A row whose scores are all -INFINITY so far sees nothing; -INFINITY - -INFINITY is no number. */
        from[k] = m == -(real)INFINITY ? 0 : m;
        moved[k] = before == m ? 1 : vmath_exp(before - from[k]);
    }
    real sum[VMATH_LANES] = {0}, weighted[VMATH_LANES] = {0};
    for (size_t j = begin; j < end; j++)
        for (size_t k = 0; k < VMATH_LANES; k++) {
            const real z = s[j * ld + k] - from[k], e = vmath_exp(z);
            s[j * ld + k] = e;
            sum[k] += e;
            if (entropy)
                weighted[k] += e == 0 ? 0 : e * z; /* x ln x -> 0; z may be -infinity */
        }
    for (size_t j = 0; j < begin; j++)
        fill(s + j * ld, 0, VMATH_LANES, 0);
    for (size_t j = end; j < t->keys; j++)
        fill(s + j * ld, 0, VMATH_LANES, 0);
    for (size_t k = 0; k < VMATH_LANES; k++) {
        const real l = state->l[first + k], before = state->m[first + k];
        if (entropy) { /* nothing seen before: nothing to move */
            const real a = moved[k] * (state->a[first + k] + (before - from[k]) * l);
            state->a[first + k] = (l == 0 ? 0 : a) + weighted[k];
        }
        state->l[first + k] = l * moved[k] + sum[k];
        state->m[first + k] = here[k] > before ? here[k] : before;
        state->moved[first + k] = moved[k];
    }
}

INSIDE void softmax_body(real *s, size_t ld, const struct attention_tile *t, const struct attention_tile_state *state,
                         bool entropy)
{
    for (size_t first = 0; first < t->queries; first += VMATH_LANES)
        softmax_lanes(s + first, ld, t, state, first, entropy);
}

CLONES void attention_tile_softmax(real *s, size_t ld, const struct attention_tile *t,
                                   const struct attention_tile_state *state, bool entropy)
{
    if (entropy)
        softmax_body(s, ld, t, state, true);
    else
        softmax_body(s, ld, t, state, false);
}

CLONES void attention_tile_rescale(real *y, size_t stride, size_t queries, size_t hs, const real *moved)
{
    for (size_t i = 0; i < queries; i++)
        if (moved[i] != 1)
            for (size_t c = 0; c < hs; c++)
                y[i * stride + c] *= moved[i];
}

CLONES void attention_tile_drop(real *p, size_t ld, const struct attention_tile *t, const struct dropout *drop,
                                size_t b, size_t h, size_t T_k, real *mask)
{
    for (size_t i = 0; i < t->queries; i++) {
        const size_t begin = t->begin[i], n = t->end[i] - begin;
        dropout_mask(mask, drop, b, h, (t->i0 + i) * T_k + t->j0 + begin, n);
        for (size_t j = 0; j < n; j++)
            p[(begin + j) * ld + i] *= mask[j];
    }
}

CLONES void attention_tile_end(real *y, size_t stride, size_t hs, const struct attention_tile_state *state,
                               size_t queries)
{
    for (size_t i = 0; i < queries; i++, y += stride) {
        const real l = state->l[i], share = 1 / l;
        if (l == 0)
            memset(y, 0, hs * sizeof *y);
        else
            for (size_t c = 0; c < hs; c++)
                y[c] *= share;
    }
}

void attention_tile_log(const struct attention_rows *rows, size_t row, real m, real l, real a, size_t visible)
{
    if (l == 0) {
        rows->max_score[row] = rows->lse[row] = -(real)INFINITY;
        rows->entropy[row] = 0;
        return;
    }
    const real log_l = (real)log((double)l), most = (real)log((double)visible);
    const real entropy = log_l - a / l;
    rows->max_score[row] = isnan(l) && !isinf(m) ? l : m;
    rows->lse[row] = m + log_l;
    rows->entropy[row] = entropy < 0 ? 0 : entropy > most ? most : entropy; /* rounding only; NaN stays */
}

CLONES void attention_tile_gradient(real *restrict p, real *restrict ds, size_t ld, const struct attention_tile *t,
                                    const real *m, const real *share, const real *d, const struct dropout *drop,
                                    size_t b, size_t h, size_t T_k, real *restrict mask)
{
    for (size_t i = 0; i < t->queries; i++, p += ld, ds += ld) {
        const size_t begin = t->begin[i], end = t->end[i], row = t->i0 + i;
        const real m_i = m[row], share_i = share[row], d_i = d[row];
        if (drop) {
            dropout_mask(mask + begin, drop, b, h, row * T_k + t->j0 + begin, end - begin);
            for (size_t j = begin; j < end; j++) {
                const real p_j = vmath_exp(p[j] - m_i) * share_i, dp = mask[j] == 0 ? 0 : ds[j] * mask[j];
                p[j] = p_j * mask[j];
                ds[j] = p_j * (dp - d_i);
            }
        } else {
            /* whole vectors: what is hidden among them is put right below */
            for (size_t j = begin / VMATH_LANES * VMATH_LANES; j < end; j += VMATH_LANES)
                for (size_t k = 0; k < VMATH_LANES; k++) {
                    const real p_j = vmath_exp(p[j + k] - m_i) * share_i;
                    p[j + k] = p_j;
                    ds[j + k] = p_j * (ds[j + k] - d_i);
                }
        }
        fill(p, 0, begin, 0);
        fill(p, end, t->keys, 0);
        fill(ds, 0, begin, 0);
        fill(ds, end, t->keys, 0);
    }
}

/* 0 times what is not finite is NaN, and NaN stays in a sum. */
INSIDE bool finite(const real *x, size_t ld, size_t n, size_t hs)
{
    enum { CHAINS = 4 };
    real acc[CHAINS][VMATH_LANES] = {{0}};
    size_t c = 0;
    for (; c + VMATH_LANES <= hs; c += VMATH_LANES) {
        size_t i = 0;
        for (; i + CHAINS <= n; i += CHAINS)
            for (size_t u = 0; u < CHAINS; u++)
                for (size_t k = 0; k < VMATH_LANES; k++)
                    acc[u][k] += x[(i + u) * ld + c + k] * 0;
        for (; i < n; i++)
            for (size_t k = 0; k < VMATH_LANES; k++)
                acc[0][k] += x[i * ld + c + k] * 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = c; k < hs; k++)
            acc[i % CHAINS][k - c] += x[i * ld + k] * 0;
    return vmath_reduce(acc[0]) + vmath_reduce(acc[1]) + vmath_reduce(acc[2]) + vmath_reduce(acc[3]) == 0;
}

CLONES bool attention_tile_finite(const real *x, size_t ld, size_t n, size_t hs)
{
    return finite(x, ld, n, hs);
}

CLONES void attention_tile_transpose(real *y, size_t ld_y, const real *x, size_t ld_x, size_t n, size_t hs)
{
    enum { BLOCK = 16 };
    for (size_t i0 = 0; i0 < n; i0 += BLOCK)
        for (size_t c0 = 0; c0 < hs; c0 += BLOCK) {
            const size_t rows = n - i0 < BLOCK ? n - i0 : BLOCK, cols = hs - c0 < BLOCK ? hs - c0 : BLOCK;
            const real *from = x + i0 * ld_x + c0;
            real *to = y + c0 * ld_y + i0;
            if (rows == BLOCK && cols == BLOCK)
                for (size_t c = 0; c < BLOCK; c++)
                    for (size_t i = 0; i < BLOCK; i++)
                        to[c * ld_y + i] = from[i * ld_x + c];
            else
                for (size_t c = 0; c < cols; c++)
                    for (size_t i = 0; i < rows; i++)
                        to[c * ld_y + i] = from[i * ld_x + c];
        }
}

CLONES void attention_tile_row_sums(real *d, const real *dy, const real *y, size_t stride, size_t n, size_t hs)
{
    for (size_t i = 0; i < n; i++)
        d[i] = vmath_dot(dy + i * stride, y + i * stride, hs);
}
