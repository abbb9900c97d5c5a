/* Is a training pass the same model as an evaluation? With dropout off it must give the same bits at any step, for any
 * rows of it; and one window must give the same logits in every row of a batch. */
#ifndef DIAG_MODES_H
#define DIAG_MODES_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the line "training" and what it found. tokens (B,T), a whole batch of w. Logits of other batch rows may differ
 * as decoding.h says. STATUS_MEMORY. */
enum status modes_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens, uint64_t seed,
                        struct error *err);

#endif
