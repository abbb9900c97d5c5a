/* Does one symbol at a time give what a whole window gives? The decoder is run through prompts of several lengths,
 * symbol by symbol, past the end of the context and after a reset, and its logits are held against passes over the same
 * symbols; what a prompt leaves in the cache must not depend on what follows. */
#ifndef DIAG_DECODING_H
#define DIAG_DECODING_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

#define DECODING_LENGTHS 16

/* Adds the line "decode" and what it found. Prompts of up to `lengths` (8 to DECODING_LENGTHS, asserted) lengths. w has
 * room for one whole window (asserted). Logits of passes of other shapes may differ by 1e-5 (double: 1e-11) and eight
 * times what rounding does to this model (noise.h), times max(1, largest |logit|); what has the same shape must be the
 * same bits. STATUS_RANGE, STATUS_MEMORY. */
enum status decoding_check(struct verdict *v, const struct gpt *g, struct work *w, size_t lengths, uint64_t seed,
                           struct error *err);

#endif
