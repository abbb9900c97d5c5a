#include "kernels/dropout.h"

#include <assert.h>

#include "kernels/variants.h"
#include "kernels/x86/philox.h"

/* A draw is dropped when its 32 bits are below p * 2^32. */
static uint32_t threshold(double p)
{
    assert(p >= 0 && p < 1);
    return (uint32_t)(p * 4294967296.0);
}

/* Draws of blocks first, first + 1, ... as rng_block gives them. */
static void draw(enum isa isa, uint32_t out[PHILOX_DRAWS], const struct rng_site *site, uint32_t first)
{
    struct rng_start at = rng_start(site);
    at.counter[0] = first;
    if (philox_wide(isa, out, &at))
        return;
    for (uint32_t i = 0; i < PHILOX_DRAWS / 4; i++, at.counter[0]++)
        rng_philox(out + (size_t)4 * i, at.counter, at.key);
}

VARIANTS(void, dropout_mask,
         (const struct lane *lane, real *mask, const struct dropout *d, size_t b, size_t h, size_t first, size_t n),
         (lane, mask, d, b, h, first, n))
{
    struct rng_site site = d->site;
    site.row = d->first_row + (uint32_t)b;
    site.head = (uint32_t)h;
    const uint32_t limit = threshold(d->p);
    const real keep = (real)(1 / (1 - d->p));
    uint32_t draws[PHILOX_DRAWS];
    for (size_t i = 0; i < n;) {
        const size_t position = first + i, skip = position % 4;
        const size_t count = n - i < PHILOX_DRAWS - skip ? n - i : PHILOX_DRAWS - skip;
        draw(lane->isa, draws, &site, (uint32_t)(position / 4));
        for (size_t k = 0; k < count; k++)
            mask[i + k] = draws[skip + k] < limit ? 0 : keep;
        i += count;
    }
}

VARIANTS(void, dropout_apply, (const struct lane *lane, real *x, const struct dropout *d, size_t B, size_t T, size_t C),
         (lane, x, d, B, T, C))
{
    if (d->p == 0)
        return;
    const struct span s = lane_span(lane, B * T, 1);
    enum { CHUNK = 2 * PHILOX_DRAWS };
    real mask[CHUNK];
    for (size_t n = s.begin; n < s.end; n++)
        for (size_t c = 0; c < C; c += CHUNK) {
            const size_t m = C - c < CHUNK ? C - c : CHUNK;
            dropout_mask(lane, mask, d, n / T, 0, n % T * C + c, m);
            for (size_t i = 0; i < m; i++)
                x[n * C + c + i] = mask[i] == 0 ? 0 : x[n * C + c + i] * mask[i];
        }
}
