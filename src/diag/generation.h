/* What the future is worth to a model: its loss when each symbol is predicted from what stands before it and nothing
 * else, as when it writes, beside its loss over whole windows. A model that sees no future has the same loss both
 * ways, but for rounding; one that does loses what it peeked at. */
#ifndef DIAG_GENERATION_H
#define DIAG_GENERATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"

struct generation {
    double loss;     /* mean over windows and positions, nats per symbol: target t from tokens [0, t] alone */
    double parallel; /* the same targets, whole windows at once, as in training and evaluation */
};

/* n windows: tokens, targets (n,T), each < V; n > 0, 0 < T <= w->T (asserted). Prefixes of one length, of as many
 * windows as w has rows, are one pass, so this costs about T/2 times what the parallel loss does. No dropout; sums in
 * double, in order. STATUS_NONFINITE (a loss is not finite), STATUS_MEMORY. */
enum status generation_loss(struct generation *r, const struct gpt *g, struct work *w, const uint32_t *tokens,
                            const uint32_t *targets, size_t n, size_t T, struct error *err);

#endif
