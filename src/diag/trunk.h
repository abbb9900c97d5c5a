/* Are the gradients of the whole model put together right? What stands around the blocks is worked out again in double,
 * and the blocks' backward passes are run one after another by hand: the whole backward pass must give the same. */
#ifndef DIAG_TRUNK_H
#define DIAG_TRUNK_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the line "trunk" and what it found. Two batch rows (or one), as in training. An error counts from 1 % (double:
 * 1e-6) of a gradient's length on. w made for training. STATUS_MEMORY. */
enum status trunk_check(struct verdict *v, const struct gpt *g, struct work *w, uint64_t seed, struct error *err);

#endif
