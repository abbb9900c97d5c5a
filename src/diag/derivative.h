/* Is each block's backward pass the derivative of its forward pass? A random gradient is sent back through every block
 * alone; what it becomes at the MLP, at queries, keys and values of each head, at the block's input and in every weight
 * is worked out again in double from the formulas and compared. Unlike differences of the loss (gradcheck.h), this
 * needs no step size and tells which operation is wrong. */
#ifndef DIAG_DERIVATIVE_H
#define DIAG_DERIVATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the line "backward" and what it found. Over two batch rows of a
 * window (at most DERIVATIVE_LONGEST), in evaluation and with dropout's masks. An
 * error counts from 1e-3 (double: 1e-8) of the gradient's length on, more where terms cancel or scores are large; where
 * that leaves nothing to judge the line says so. Layers for which `skip` (L, or NULL) is true are left out: the forward
 * pass is not what it should be there, so its derivative cannot be. The declared rule is what attention is held
 * against. w made for training. STATUS_MEMORY. */
#define DERIVATIVE_LONGEST 160
enum status derivative_check(struct verdict *v, const struct gpt *g, struct work *w, const bool *skip, uint64_t seed,
                             struct error *err);

#endif
