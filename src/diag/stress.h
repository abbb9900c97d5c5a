/* What if scores were large? A mask that is a finite number holds until scores pass it, so a model may be clean today
 * and leak after more training. Scores are measured, and the leak check is run again on copies of the model whose query
 * and key weights are scaled up. */
#ifndef DIAG_STRESS_H
#define DIAG_STRESS_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the lines "margin" (the largest score that tokens (B,T) of a whole batch of w give, against the constants that
 * stand for minus infinity elsewhere) and "stress", and what the latter found, located. w made for training.
 * STATUS_MEMORY (a second set of parameters). */
enum status stress_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens, uint64_t seed,
                         struct error *err);

#endif
