/* Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011). A draw is a function of its site and position alone, never of how many draws
 * came before, so dropout masks and data windows need no saved state and threads need no order. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* The numbers are part of every draw: a purpose keeps its own, or the same seed gives other text and other runs. */
enum rng_purpose {
    RNG_INIT = 0,           /* initial weights: layer = block, head = kind of tensor, position = index */
    RNG_DATA = 1,           /* training windows: row = batch row over the whole step */
    RNG_DROP_EMBEDDING = 3, /* dropout after the embeddings */
    RNG_DROP_ATTENTION = 4, /* ... on attention weights: position = query * T_k + key */
    RNG_DROP_RESIDUAL = 5,  /* ... after the attention projection */
    RNG_DROP_MLP = 6,       /* ... after the MLP */
    RNG_SAMPLE = 7,         /* generation: row = sample, position = symbol */
    RNG_CHECK = 8,          /* leak check, gradient check */
    RNG_CORPUS = 9,         /* corpus generator: row = story, position = choice */
    RNG_TEST = 10,          /* tests */
};

struct rng_site {
    uint64_t seed;
    enum rng_purpose purpose; /* < 256 */
    uint32_t step;
    uint32_t row;
    uint32_t layer; /* < 4096 */
    uint32_t head;  /* < 4096 */
};

/* The raw generator: out = Philox4x32-10(counter, key). */
void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Philox's multipliers, and the steps of its key: the golden ratio and sqrt(3) - 1. */
#define RNG_M0 0xD2511F53u
#define RNG_M1 0xCD9E8D57u
#define RNG_W0 0x9E3779B9u
#define RNG_W1 0xBB67AE85u

/* Counter and key of a site; counter[0] is the block. layer and head below 4096 (asserted). */
struct rng_start {
    uint32_t counter[4], key[2];
};
struct rng_start rng_start(const struct rng_site *site);

/* Four draws: those of positions 4*block .. 4*block+3. */
void rng_block(uint32_t out[4], const struct rng_site *site, uint32_t block);

/* The 32 random bits of one position. */
uint32_t rng_bits(const struct rng_site *site, uint32_t position);

/* Uniform in [0,1) with 53 random bits; one Philox call: the draws of block `position`, some of which rng_bits gives
 * to other positions, so use one kind of draw per site. Likewise rng_below and rng_normal. */
double rng_uniform(const struct rng_site *site, uint32_t position);

/* Uniform in 0..n-1, n > 0 (asserted); the bias is below n / 2^64. */
uint64_t rng_below(const struct rng_site *site, uint32_t position, uint64_t n);

/* Standard normal, by Box and Muller (1958). */
double rng_normal(const struct rng_site *site, uint32_t position);

#endif
