#include "kernels/attention_product.h"

#include <assert.h>
#include <string.h>

#include "kernels/bf16.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"
#include "kernels/variants.h"

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t attention_words_left(size_t queries, size_t keys, size_t hs)
{
    return most(gemm_bf16_a_size(keys, hs), most(gemm_bf16_a_size(keys, queries), gemm_bf16_a_size(queries, keys)));
}

void attention_product_turn(const struct lane *lane, const struct attention_queries *y, size_t ld, const real *x,
                            size_t ld_x, size_t queries, size_t hs, bool backward)
{
    if (!y->pairs) {
        attention_tile_transpose(lane, y->turned, ld, x, ld_x, queries, hs);
        return;
    }
    gemm_bf16_pack_b(lane, y->pairs, GEMM_TRANSPOSED, x, ld_x, queries, hs, 0, gemm_bf16_panels(queries));
    if (backward)
        gemm_bf16_pack_b(lane, y->sums, GEMM_PLAIN, x, ld_x, hs, queries, 0, gemm_bf16_panels(hs));
}

VARIANTS(void, attention_product_scale, (const struct lane *lane, real *w, size_t n, real alpha), (lane, w, n, alpha))
{
    (void)lane; /* it chose this variant */
    for (size_t i = 0; i < n; i++)
        w[i] *= alpha;
}

void attention_product_of_pairs(const struct lane *lane, real *w, size_t ld, real alpha, const real *x, size_t ld_x,
                                const struct attention_queries *y, const struct attention_tile *t, size_t hs,
                                const struct attention_words *words)
{
    if (!words->left) {
        gemm(GEMM_PLAIN, GEMM_PLAIN, t->keys, t->queries, hs, alpha, x, ld_x, y->turned, ld, 0, w, ld);
        return;
    }
    gemm_bf16_pack_a(lane, words->left, GEMM_PLAIN, x, ld_x, t->keys, hs);
    gemm_bf16(lane, w, ld, t->keys, t->queries, hs, words->left, y->pairs, false);
    if (alpha != 1)
        attention_product_scale(lane, w, t->keys * ld, alpha);
}

/* ---- with weights ---- */

/* In a tile that hides something the hidden weights are zeros, and zero times NaN is NaN: a row that is not finite must
 * not enter such a product. The product is taken with zeros in place of it, which changes no bit of rows that do not
 * see it, and it is added afterwards to those that do. */
static bool row_finite(const struct lane *lane, const real *x, size_t hs, bool bf16)
{
    if (!bf16)
        return attention_tile_finite(lane, x, hs, 1, hs);
    for (size_t c = 0; c < hs; c++)
        if (!(bf16_round(x[c]) * 0 == 0)) /* the largest numbers become infinite */
            return false;
    return true;
}

static void clean_rows(const struct lane *lane, real *clean, const real *x, size_t ld, size_t rows, size_t hs,
                       bool bf16)
{
    for (size_t n = 0; n < rows; n++)
        if (row_finite(lane, x + n * ld, hs, bf16))
            memcpy(clean + n * hs, x + n * ld, hs * sizeof *clean);
        else
            memset(clean + n * hs, 0, hs * sizeof *clean);
}

static void add_spoiled(const struct lane *lane, const struct attention_side *s, real alpha, const real *w, size_t ld,
                        const struct attention_tile *t, size_t hs, bool x_is_keys, bool bf16)
{
    for (size_t n = 0; n < (x_is_keys ? t->keys : t->queries); n++) {
        const real *x = s->x + n * s->ld_x;
        if (row_finite(lane, x, hs, bf16))
            continue;
        for (size_t o = 0; o < (x_is_keys ? t->queries : t->keys); o++) {
            const size_t i = x_is_keys ? o : n, j = x_is_keys ? n : o;
            if (j < t->begin[i] || j >= t->end[i])
                continue;
            const real w_ij = bf16 ? bf16_round(w[j * ld + i]) : w[j * ld + i];
            for (size_t c = 0; c < hs; c++)
                s->out[o * s->ld_out + c] += alpha * w_ij * (bf16 ? bf16_round(x[c]) : x[c]);
        }
    }
}

/* Whether packed numbers are finite: an exponent of ones is neither. */
VARIANTS(static void, words_finite, (const struct lane *lane, bool *all, const uint32_t *words, size_t n),
         (lane, all, words, n))
{
    (void)lane; /* it chose this variant */
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t low = words[i] & 0x7f80u, high = words[i] & 0x7f800000u;
        bad |= (uint32_t)(low == 0x7f80u) | (uint32_t)(high == 0x7f800000u);
    }
    *all = bad == 0;
}

static void product(const struct lane *lane, const struct attention_side *s, real alpha, const real *w, size_t ld,
                    const struct attention_tile *t, size_t hs, real *clean, bool x_is_keys)
{
    const size_t rows = x_is_keys ? t->queries : t->keys, depth = x_is_keys ? t->keys : t->queries;
    const bool spoiled = !t->whole && !attention_tile_finite(lane, s->x, s->ld_x, depth, hs);
    if (spoiled)
        clean_rows(lane, clean, s->x, s->ld_x, depth, hs, false);
    gemm(x_is_keys ? GEMM_TRANSPOSED : GEMM_PLAIN, GEMM_PLAIN, rows, hs, depth, alpha, w, ld, spoiled ? clean : s->x,
         spoiled ? hs : s->ld_x, s->add ? 1 : 0, s->out, s->ld_out);
    if (spoiled)
        add_spoiled(lane, s, alpha, w, ld, t, hs, x_is_keys, false);
}

static void product_bf16(const struct lane *lane, const struct attention_side *s, const real *w, size_t ld,
                         const struct attention_tile *t, size_t hs, real *clean, bool x_is_keys,
                         const struct attention_words *words)
{
    const size_t rows = x_is_keys ? t->queries : t->keys, depth = x_is_keys ? t->keys : t->queries;
    const size_t panels = gemm_bf16_panels(hs);
    const uint32_t *x = words->right;
    bool finite = true;
    gemm_bf16_pack_a(lane, words->left, x_is_keys ? GEMM_TRANSPOSED : GEMM_PLAIN, w, ld, rows, depth);
    if (s->prepared)
        x = s->prepared->sums;
    else
        gemm_bf16_pack_b(lane, words->right, GEMM_PLAIN, s->x, s->ld_x, hs, depth, 0, panels);
    if (!t->whole)
        words_finite(lane, &finite, x, gemm_bf16_b_size(hs, depth));
    if (!finite) {
        clean_rows(lane, clean, s->x, s->ld_x, depth, hs, true);
        gemm_bf16_pack_b(lane, words->right, GEMM_PLAIN, clean, hs, hs, depth, 0, panels);
        x = words->right;
    }
    gemm_bf16(lane, s->out, s->ld_out, rows, hs, depth, words->left, x, s->add);
    if (!finite)
        add_spoiled(lane, s, 1, w, ld, t, hs, x_is_keys, true);
}

static void choose(const struct lane *lane, const struct attention_side *s, real alpha, const real *w, size_t ld,
                   const struct attention_tile *t, size_t hs, real *clean, bool x_is_keys,
                   const struct attention_words *words)
{
    assert(!words->left || alpha == 1);
    if (words->left)
        product_bf16(lane, s, w, ld, t, hs, clean, x_is_keys, words);
    else
        product(lane, s, alpha, w, ld, t, hs, clean, x_is_keys);
}

void attention_product_to_queries(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                                  size_t ld, const struct attention_tile *t, size_t hs, real *clean,
                                  const struct attention_words *words)
{
    choose(lane, s, alpha, w, ld, t, hs, clean, true, words);
}

void attention_product_to_keys(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                               size_t ld, const struct attention_tile *t, size_t hs, real *clean,
                               const struct attention_words *words)
{
    choose(lane, s, alpha, w, ld, t, hs, clean, false, words);
}
