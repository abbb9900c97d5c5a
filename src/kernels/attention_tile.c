#include "kernels/attention_tile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/bf16.h"
#include "kernels/variants.h"
#include "kernels/vmath.h"

/* For functions that stand in one of several clones. */
#define INSIDE VARIANTS_INLINE

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

/* Where in rows of keys the VMATH_LANES queries from `first` on see anything at all: [begin, end). */
INSIDE void seen_by_lanes(size_t *begin, size_t *end, const struct attention_tile *t, size_t first)
{
    *begin = t->keys;
    *end = 0;
    for (size_t i = first; i < first + VMATH_LANES && i < t->queries; i++)
        if (t->begin[i] < t->end[i]) {
            *begin = t->begin[i] < *begin ? t->begin[i] : *begin;
            *end = t->end[i] > *end ? t->end[i] : *end;
        }
    if (*begin > *end)
        *begin = *end;
}

/* Puts `value` where those queries do not see a key of rows [begin, end), and where there is no query. */
INSIDE void hide(real *s, size_t ld, const struct attention_tile *t, size_t first, size_t begin, size_t end, real value)
{
    for (size_t k = 0; k < VMATH_LANES; k++) {
        const bool query = first + k < t->queries;
        const size_t seen = query ? t->begin[first + k] : end, over = query ? t->end[first + k] : end;
        for (size_t j = begin; j < end && j < seen; j++)
            s[j * ld + k] = value;
        for (size_t j = over > begin ? over : begin; j < end; j++)
            s[j * ld + k] = value;
    }
}

/* Zeros in rows of keys that none of the queries sees. */
INSIDE void clear_rest(real *s, size_t ld, size_t begin, size_t end, size_t keys)
{
    for (size_t j = 0; j < begin; j++)
        fill(s + j * ld, 0, VMATH_LANES, 0);
    for (size_t j = end; j < keys; j++)
        fill(s + j * ld, 0, VMATH_LANES, 0);
}

/* Queries first .. first+VMATH_LANES-1, one in each lane of a vector, down the keys. */
INSIDE void softmax_lanes(real *s, size_t ld, const struct attention_tile *t, const struct attention_tile_state *state,
                          size_t first, bool entropy)
{
    size_t begin, end;
    seen_by_lanes(&begin, &end, t, first);
    if (!t->whole || first + VMATH_LANES > t->queries)
        hide(s, ld, t, first, begin, end, -(real)INFINITY);
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
    clear_rest(s, ld, begin, end, t->keys);
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

VARIANTS(void, attention_tile_softmax,
         (const struct lane *lane, real *s, size_t ld, const struct attention_tile *t,
          const struct attention_tile_state *state, bool entropy),
         (lane, s, ld, t, state, entropy))
{
    (void)lane; /* it chose this variant */
    if (entropy)
        softmax_body(s, ld, t, state, true);
    else
        softmax_body(s, ld, t, state, false);
}

VARIANTS(void, attention_tile_rescale,
         (const struct lane *lane, real *y, size_t stride, size_t queries, size_t hs, const real *moved),
         (lane, y, stride, queries, hs, moved))
{
    (void)lane; /* it chose this variant */
    for (size_t i = 0; i < queries; i++)
        if (moved[i] != 1)
            for (size_t c = 0; c < hs; c++)
                y[i * stride + c] *= moved[i];
}

void attention_tile_mask(const struct lane *lane, real *mask, size_t ld, const struct attention_tile *t,
                         const struct dropout *drop, size_t b, size_t h, size_t T_k)
{
    real row[ATTENTION_TILE_MOST];
    memset(mask, 0, t->keys * ld * sizeof *mask);
    for (size_t i = 0; i < t->queries; i++) {
        const size_t begin = t->begin[i], n = t->end[i] - begin;
        dropout_mask(lane, row, drop, b, h, (t->i0 + i) * T_k + t->j0 + begin, n);
        for (size_t j = 0; j < n; j++)
            mask[(begin + j) * ld + i] = row[j];
    }
}

VARIANTS(void, attention_tile_drop,
         (const struct lane *lane, real *restrict p, size_t ld, size_t keys, const real *restrict mask),
         (lane, p, ld, keys, mask))
{
    (void)lane; /* it chose this variant */
    for (size_t n = 0; n < keys * ld; n++)
        p[n] *= mask[n];
}

VARIANTS(void, attention_tile_end,
         (const struct lane *lane, real *y, size_t stride, size_t hs, const struct attention_tile_state *state,
          size_t queries),
         (lane, y, stride, hs, state, queries))
{
    (void)lane; /* it chose this variant */
    for (size_t i = 0; i < queries; i++, y += stride) {
        const real l = state->l[i], share = 1 / l;
        if (l == 0)
            memset(y, 0, hs * sizeof *y);
        else
            for (size_t c = 0; c < hs; c++)
                y[c] *= share;
    }
}

VARIANTS(void, attention_tile_log,
         (const struct lane *lane, const struct attention_rows *rows, size_t row,
          const struct attention_tile_state *state, const real *visible, size_t queries),
         (lane, rows, row, state, visible, queries))
{
    (void)lane; /* it chose this variant */
    real *restrict lse = rows->lse + row, *restrict entropy = rows->entropy + row,
                   *restrict max_score = rows->max_score + row;
    const real *m = state->m, *l = state->l, *a = state->a, nothing = -(real)INFINITY;
    bool close = false; /* to the most that a row can have */
    for (size_t i = 0; i < queries; i++) {
        const bool none = l[i] == 0;
        const real log_l = vmath_log(none ? 1 : l[i]), most = vmath_log(none ? 1 : visible[i]);
        const real h = log_l - a[i] / (none ? 1 : l[i]), positive = h < 0 ? 0 : h;
        lse[i] = none ? nothing : m[i] + log_l;
        entropy[i] = none ? 0 : positive;
        close |= positive > most * (1 - 4 * REAL_EPSILON);
        max_score[i] = none ? nothing : l[i] != l[i] && m[i] < -nothing ? l[i] : m[i];
    }
    /* Rounding only; NaN stays. The last digit of vmath_log is no bound, so this is libm's, and not for every row. */
    for (size_t i = 0; close && i < queries; i++)
        if (visible[i] > 0 && entropy[i] > (real)log((double)visible[i]))
            entropy[i] = (real)log((double)visible[i]);
}

INSIDE void gradient_lanes(real *restrict p, real *restrict ds, size_t ld, const struct attention_tile *t, size_t first,
                           const real *m, const real *share, const real *d, const real *restrict mask)
{
    real m_i[VMATH_LANES], share_i[VMATH_LANES], d_i[VMATH_LANES];
    for (size_t k = 0; k < VMATH_LANES; k++) {
        const bool query = first + k < t->queries;
        m_i[k] = query ? m[first + k] : 0;
        share_i[k] = query ? share[first + k] : 0;
        d_i[k] = query ? d[first + k] : 0;
    }
    size_t begin, end;
    seen_by_lanes(&begin, &end, t, first);
    for (size_t j = begin; j < end; j++)
        for (size_t k = 0; k < VMATH_LANES; k++) {
            const size_t n = j * ld + k;
            const real p_n = vmath_exp(p[n] - m_i[k]) * share_i[k];
            if (mask) {
                const real dp = mask[n] == 0 ? 0 : ds[n] * mask[n];
                p[n] = p_n * mask[n];
                ds[n] = p_n * (dp - d_i[k]);
            } else {
                p[n] = p_n;
                ds[n] = p_n * (ds[n] - d_i[k]);
            }
        }
    if (!t->whole) {
        hide(p, ld, t, first, begin, end, 0);
        hide(ds, ld, t, first, begin, end, 0);
    }
    clear_rest(p, ld, begin, end, t->keys);
    clear_rest(ds, ld, begin, end, t->keys);
}

VARIANTS(void, attention_tile_gradient,
         (const struct lane *lane, real *restrict p, real *restrict ds, size_t ld, const struct attention_tile *t,
          const real *m, const real *share, const real *d, const real *restrict mask),
         (lane, p, ds, ld, t, m, share, d, mask))
{
    (void)lane; /* it chose this variant */
    for (size_t first = 0; first < t->queries; first += VMATH_LANES)
        if (mask)
            gradient_lanes(p + first, ds + first, ld, t, first, m + t->i0, share + t->i0, d + t->i0, mask + first);
        else
            gradient_lanes(p + first, ds + first, ld, t, first, m + t->i0, share + t->i0, d + t->i0, NULL);
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

VARIANTS(static void, are_finite, (const struct lane *lane, bool *all, const real *x, size_t ld, size_t n, size_t hs),
         (lane, all, x, ld, n, hs))
{
    (void)lane; /* it chose this variant */
    *all = finite(x, ld, n, hs);
}

bool attention_tile_finite(const struct lane *lane, const real *x, size_t ld, size_t n, size_t hs)
{
    bool all;
    are_finite(lane, &all, x, ld, n, hs);
    return all;
}

VARIANTS(void, attention_tile_transpose,
         (const struct lane *lane, real *y, size_t ld_y, const real *x, size_t ld_x, size_t n, size_t hs),
         (lane, y, ld_y, x, ld_x, n, hs))
{
    (void)lane; /* it chose this variant */
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

/* vmath_dot with x rounded to bf16. */
INSIDE real dot_rounded(const real *x, const real *y, size_t n)
{
    real acc[VMATH_LANES] = {0};
    size_t i = 0;
    for (; i + VMATH_LANES <= n; i += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++)
            acc[k] += bf16_round(x[i + k]) * y[i + k];
    for (size_t k = 0; i < n; i++, k++)
        acc[k] += bf16_round(x[i]) * y[i];
    return vmath_reduce(acc);
}

VARIANTS(void, attention_tile_row_sums,
         (const struct lane *lane, real *d, const real *dy, const real *y, size_t stride, size_t n, size_t hs,
          bool bf16),
         (lane, d, dy, y, stride, n, hs, bf16))
{
    (void)lane; /* it chose this variant */
    for (size_t i = 0; i < n; i++)
        if (bf16)
            d[i] = dot_rounded(dy + i * stride, y + i * stride, hs);
        else
            d[i] = vmath_dot(dy + i * stride, y + i * stride, hs);
}
