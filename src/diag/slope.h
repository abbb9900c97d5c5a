/* Is the backward pass the derivative of the forward pass? A quick look, for every run: each parameter tensor is moved
 * along its own gradient, and the loss must change as the gradient says. (gradcheck.h is the thorough one, and
 * measures numbers one by one.) A mask that is missing in one of the two passes only is among what this finds. */
#ifndef DIAG_SLOPE_H
#define DIAG_SLOPE_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the line "slope" and the tensors for which it is wrong. The loss is that of one window (T); the model's
 * parameters are moved and put back to the same bits. The measured slope must be within 5 % of the gradient (double:
 * 0.01 %), or within what rounding does to the loss. w made for training. STATUS_NONFINITE, STATUS_MEMORY. */
enum status slope_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens,
                        const uint32_t *targets, size_t T, uint64_t seed, struct error *err);

#endif
