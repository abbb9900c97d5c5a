#include "kernels/dropout.h"

#include <assert.h>

/* A draw is dropped when its 32 bits are below p * 2^32. */
static uint32_t threshold(double p)
{
    assert(p >= 0 && p < 1);
    return (uint32_t)(p * 4294967296.0);
}

void dropout_mask(real *mask, const struct dropout *d, size_t b, size_t h, size_t first, size_t n)
{
    struct rng_site site = d->site;
    site.row = d->first_row + (uint32_t)b;
    site.head = (uint32_t)h;
    const uint32_t limit = threshold(d->p);
    const real keep = (real)(1 / (1 - d->p));
    size_t i = 0;
    while (i < n) {
        uint32_t four[4];
        const size_t position = first + i;
        rng_block(four, &site, (uint32_t)(position / 4));
        for (size_t k = position % 4; k < 4 && i < n; k++, i++)
            mask[i] = four[k] < limit ? 0 : keep;
    }
}

void dropout_apply(const struct lane *lane, real *x, const struct dropout *d, size_t B, size_t T, size_t C)
{
    if (d->p == 0)
        return;
    const struct span s = lane_span(lane, B * T, 1);
    enum { CHUNK = 256 };
    real mask[CHUNK];
    for (size_t n = s.begin; n < s.end; n++)
        for (size_t c = 0; c < C; c += CHUNK) {
            const size_t m = C - c < CHUNK ? C - c : CHUNK;
            dropout_mask(mask, d, n / T, 0, n % T * C + c, m);
            for (size_t i = 0; i < m; i++)
                x[n * C + c + i] = mask[i] == 0 ? 0 : x[n * C + c + i] * mask[i];
        }
}
