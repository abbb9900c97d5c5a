#include "kernels/attention_row.h"

#include <math.h>
#include <string.h>

#include "kernels/attention_tile.h"
#include "kernels/gemm.h"
#include "kernels/variants.h"
#include "kernels/vmath.h"

#define INSIDE VARIANTS_INLINE
#define KEYS 256 /* scores at hand at once */

/* Sums over the keys so far, as in the tiled walk. */
struct sums {
    real m, l, a;
};

/* n scores, with room for whole vectors, become exp(s - m); returns by what the sums before them change. */
INSIDE real take(struct sums *sums, real *s, size_t n, bool entropy)
{
    const size_t whole = (n + VMATH_LANES - 1) / VMATH_LANES * VMATH_LANES;
    for (size_t j = n; j < whole; j++)
        s[j] = -(real)INFINITY;
    real most[VMATH_LANES];
    for (size_t k = 0; k < VMATH_LANES; k++)
        most[k] = sums->m;
    for (size_t j = 0; j < whole; j += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++)
            most[k] = s[j + k] > most[k] ? s[j + k] : most[k];
    real m = most[0];
    for (size_t k = 1; k < VMATH_LANES; k++)
        m = most[k] > m ? most[k] : m;
    const real from = m == -(real)INFINITY ? 0 : m, moved = sums->m == m ? 1 : vmath_exp(sums->m - from);
    real sum[VMATH_LANES] = {0}, weighted[VMATH_LANES] = {0};
    for (size_t j = 0; j < whole; j += VMATH_LANES)
        for (size_t k = 0; k < VMATH_LANES; k++) {
            const real z = s[j + k] - from, e = vmath_exp(z);
            s[j + k] = e;
            sum[k] += e;
            if (entropy)
                weighted[k] += e == 0 ? 0 : e * z;
        }
    if (entropy)
        sums->a = (sums->l == 0 ? 0 : moved * (sums->a + (sums->m - from) * sums->l)) + vmath_reduce(weighted);
    sums->l = sums->l * moved + vmath_reduce(sum);
    sums->m = m;
    return moved;
}

VARIANTS(void, attention_row_forward,
         (const struct lane *lane, real *restrict y, const struct attention_rows *rows,
          const struct attention_kept *kept, size_t row, const real *q, const real *k, const real *v,
          const struct attention_shape *s, struct attention_interval seen),
         (lane, y, rows, kept, row, q, k, v, s, seen))
{
    (void)lane; /* it chose this variant */
    const size_t hs = s->hs, k_stride = s->k_stride, v_stride = s->v_stride;
    struct sums sums = {.m = -(real)INFINITY};
    real p[KEYS];
    if (seen.begin == seen.end)
        memset(y, 0, hs * sizeof *y);
    for (size_t j0 = seen.begin; j0 < seen.end; j0 += KEYS) {
        const size_t n = seen.end - j0 < KEYS ? seen.end - j0 : KEYS;
        const bool first = j0 == seen.begin;
        gemm(GEMM_PLAIN, GEMM_TRANSPOSED, 1, n, hs, s->scale, q, hs, k + j0 * k_stride, k_stride, 0, p, KEYS);
        const real moved = rows ? take(&sums, p, n, true) : take(&sums, p, n, false);
        for (size_t c = 0; c < hs && !first && moved != 1; c++)
            y[c] *= moved;
        gemm(GEMM_PLAIN, GEMM_PLAIN, 1, hs, n, 1, p, KEYS, v + j0 * v_stride, v_stride, first ? 0 : 1, y, hs);
    }
    const struct attention_tile_state state = {.m = &sums.m, .l = &sums.l, .a = &sums.a};
    attention_tile_end(lane, y, hs, hs, &state, 1);
    const real visible = (real)(seen.end - seen.begin);
    if (rows)
        attention_tile_log(lane, rows, row, &state, &visible, 1);
    if (kept) {
        const bool nothing = sums.m == -(real)INFINITY;
        kept->max[row] = nothing ? 0 : sums.m;
        kept->share[row] = nothing ? 0 : 1 / sums.l;
    }
}
