/* Cross-entropy of softmax(logits) against the symbol that came next, in nats. */
#ifndef KERNELS_CROSSENTROPY_H
#define KERNELS_CROSSENTROPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/team.h"

/* loss[n] = lse(logits[n,:]) - logits[n,targets[n]]; logits become the probabilities.
 *   loss (N)   logits (N,V), overwritten   targets (N), each < V
 * Each lane does its rows. */
void crossentropy_forward(const struct lane *lane, real *restrict loss, real *restrict logits, const uint32_t *targets,
                          size_t N, size_t V);

/* dlogits[n,v] = scale * (p[n,v] - [v = targets[n]]), in place on the probabilities. scale is usually 1 over the
 * number of targets. */
void crossentropy_backward(const struct lane *lane, real *restrict probabilities, const uint32_t *targets, real scale,
                           size_t N, size_t V);

#endif
