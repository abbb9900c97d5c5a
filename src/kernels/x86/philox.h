/* base/rng.h's generator for many blocks at once. */
#ifndef KERNELS_X86_PHILOX_H
#define KERNELS_X86_PHILOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"
#include "base/rng.h"

#define PHILOX_DRAWS 128

/* The draws of PHILOX_DRAWS / 4 blocks from start->counter[0] on, in order: out[4 i + k] is draw k of the i-th. False,
 * with nothing done, where the set has no vectors for it; the processor must have the set. */
bool philox_wide(enum isa isa, uint32_t out[PHILOX_DRAWS], const struct rng_start *start);

#endif
