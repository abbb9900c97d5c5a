#include "base/rng.h"

#include <assert.h>
#include <math.h>

static const double PI = 3.14159265358979323846;

void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)RNG_M0 * c0;
        const uint64_t p1 = (uint64_t)RNG_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += RNG_W0;
        k1 += RNG_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

struct rng_start rng_start(const struct rng_site *site)
{
    assert(site->layer < 4096 && site->head < 4096);
    const uint32_t where = (uint32_t)site->purpose << 24 | site->layer << 12 | site->head;
    return (struct rng_start){.counter = {0, site->row, where, site->step},
                              .key = {(uint32_t)site->seed, (uint32_t)(site->seed >> 32)}};
}

void rng_block(uint32_t out[4], const struct rng_site *site, uint32_t block)
{
    struct rng_start at = rng_start(site);
    at.counter[0] = block;
    rng_philox(out, at.counter, at.key);
}

uint32_t rng_bits(const struct rng_site *site, uint32_t position)
{
    uint32_t four[4];
    rng_block(four, site, position / 4);
    return four[position % 4];
}

static uint64_t bits64(const struct rng_site *site, uint32_t position)
{
    uint32_t four[4];
    rng_block(four, site, position);
    return (uint64_t)four[0] << 32 | four[1];
}

double rng_uniform(const struct rng_site *site, uint32_t position)
{
    return (double)(bits64(site, position) >> 11) * 0x1p-53;
}

uint64_t rng_below(const struct rng_site *site, uint32_t position, uint64_t n)
{
    assert(n > 0);
    /* High half of the 64 x 64 product, from four 32 x 32 ones: no 128-bit type needed. */
    const uint64_t x = bits64(site, position);
    const uint64_t x0 = (uint32_t)x, x1 = x >> 32, n0 = (uint32_t)n, n1 = n >> 32;
    const uint64_t low = x0 * n0, mid = x1 * n0 + (low >> 32), cross = x0 * n1 + (uint32_t)mid;
    return x1 * n1 + (mid >> 32) + (cross >> 32);
}

double rng_normal(const struct rng_site *site, uint32_t position)
{
    uint32_t four[4];
    rng_block(four, site, position);
    const double u = ((double)(((uint64_t)four[0] << 32 | four[1]) >> 11) + 0.5) * 0x1p-53;
    const double v = (double)(((uint64_t)four[2] << 32 | four[3]) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(2 * PI * v);
}
