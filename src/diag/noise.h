/* How far rounding alone can move what a model says. Passes of other shapes add up the same terms in another order; a
 * model whose attention is sharp makes much of that. It is measured, not guessed: every parameter is moved by two units
 * in its last place, up or down at random, which is a change of the size that rounding makes. */
#ifndef DIAG_NOISE_H
#define DIAG_NOISE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"

struct noise {
    double logits; /* the largest change of a logit */
    double loss;   /* the largest change of the mean loss of a window, nats per symbol */
};

/* Over n windows (n,T) of tokens < V; at least one, T <= w->T (asserted). STATUS_MEMORY (a second set of parameters).
 */
enum status noise_measure(struct noise *r, const struct gpt *g, struct work *w, const uint32_t *tokens,
                          const uint32_t *targets, size_t n, size_t T, uint64_t seed, struct error *err);

#endif
