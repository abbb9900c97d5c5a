/* Is the loss the cross-entropy of the targets, and its gradient probabilities less one where the target is? */
#ifndef DIAG_LOSSGRAD_H
#define DIAG_LOSSGRAD_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the line "loss" and what it found: loss and gradient of a whole batch of w, worked out again in double from the
 * logits. tokens, targets (B,T). The allowed error is 1e-4 (double: 1e-9), for the loss times its size or 1.
 * STATUS_MEMORY. */
enum status lossgrad_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens,
                           const uint32_t *targets, struct error *err);

#endif
