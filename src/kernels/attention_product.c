#include "kernels/attention_product.h"

#include <string.h>

#include "kernels/gemm.h"

void attention_product_of_pairs(real *w, size_t ld, real alpha, const real *x, size_t ld_x, const real *yt,
                                const struct attention_tile *t, size_t hs)
{
    gemm(GEMM_PLAIN, GEMM_PLAIN, t->keys, t->queries, hs, alpha, x, ld_x, yt, ld, 0, w, ld);
}

/* In a tile that hides something the hidden weights are zeros, and zero times NaN is NaN: a row that is not finite must
 * not enter such a product. The product is taken with zeros in place of it, which changes no bit of rows that do not
 * see it, and it is added afterwards to those that do. */
struct factor {
    const real *x; /* what gemm multiplies: rows of hs */
    size_t ld;
    const real *spoiled; /* the rows as they are, where some are not finite; else NULL */
    size_t spoiled_ld;
};

static struct factor factor_of(const struct lane *lane, const struct attention_tile *t, const real *x, size_t ld,
                               size_t rows, size_t hs, real *clean)
{
    if (t->whole || attention_tile_finite(lane, x, ld, rows, hs))
        return (struct factor){x, ld, NULL, 0};
    for (size_t n = 0; n < rows; n++)
        if (attention_tile_finite(lane, x + n * ld, ld, 1, hs))
            memcpy(clean + n * hs, x + n * ld, hs * sizeof *clean);
        else
            memset(clean + n * hs, 0, hs * sizeof *clean);
    return (struct factor){clean, hs, x, ld};
}

static void add_spoiled(const struct lane *lane, const struct attention_side *s, real alpha, const real *w, size_t ld,
                        const struct attention_tile *t, const struct factor *f, size_t hs, bool x_is_keys)
{
    for (size_t n = 0; n < (x_is_keys ? t->keys : t->queries); n++) {
        const real *x = f->spoiled + n * f->spoiled_ld;
        if (attention_tile_finite(lane, x, f->spoiled_ld, 1, hs))
            continue;
        for (size_t o = 0; o < (x_is_keys ? t->queries : t->keys); o++) {
            const size_t i = x_is_keys ? o : n, j = x_is_keys ? n : o;
            if (j < t->begin[i] || j >= t->end[i])
                continue;
            for (size_t c = 0; c < hs; c++)
                s->out[o * s->ld_out + c] += alpha * w[j * ld + i] * x[c];
        }
    }
}

void attention_product_to_queries(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                                  size_t ld, const struct attention_tile *t, size_t hs, real *clean)
{
    const struct factor f = factor_of(lane, t, s->x, s->ld_x, t->keys, hs, clean);
    gemm(GEMM_TRANSPOSED, GEMM_PLAIN, t->queries, hs, t->keys, alpha, w, ld, f.x, f.ld, s->add ? 1 : 0, s->out,
         s->ld_out);
    if (f.spoiled)
        add_spoiled(lane, s, alpha, w, ld, t, &f, hs, true);
}

void attention_product_to_keys(const struct lane *lane, const struct attention_side *s, real alpha, const real *w,
                               size_t ld, const struct attention_tile *t, size_t hs, real *clean)
{
    const struct factor f = factor_of(lane, t, s->x, s->ld_x, t->queries, hs, clean);
    gemm(GEMM_PLAIN, GEMM_PLAIN, t->keys, hs, t->queries, alpha, w, ld, f.x, f.ld, s->add ? 1 : 0, s->out, s->ld_out);
    if (f.spoiled)
        add_spoiled(lane, s, alpha, w, ld, t, &f, hs, false);
}
