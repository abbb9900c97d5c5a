/* How large attention scores are, and copies of a model in which they are larger or smaller. */
#ifndef DIAG_SCORES_H
#define DIAG_SCORES_H

#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"

struct scores {
    double lowest, highest; /* of the rows' largest scores */
};

/* Over a whole batch of w (made for training), tokens (B,T). */
struct scores scores_measure(const struct gpt *g, struct work *w, const uint32_t *tokens);

/* The larger of the two, as a size; at least 1e-3. */
double scores_size(const struct scores *s);

/* *copy is g with parameters of its own, W_Q, W_K and their biases times `factor` (scores times its square), everything
 * else shared. STATUS_MEMORY. Free with scores_free. */
enum status scores_scaled(struct gpt *copy, const struct gpt *g, double factor, struct error *err);
void scores_free(struct gpt *copy);

#endif
