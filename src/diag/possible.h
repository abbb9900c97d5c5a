/* Is the loss lower than it can be? On symbols drawn uniformly no model that sees no future gets below ln V; on
 * text of which the source is known, none gets below the source's entropy, attributed symbol by symbol. A loss that is
 * lower by four standard errors has seen what it predicts. */
#ifndef DIAG_POSSIBLE_H
#define DIAG_POSSIBLE_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

/* Adds the line "uniform": `windows` windows of fresh uniform symbols. STATUS_MEMORY, STATUS_NONFINITE. */
enum status possible_uniform(struct verdict *v, const struct gpt *g, struct work *w, size_t windows, uint64_t seed,
                             struct error *err);

/* Adds the line "entropy": about `size` characters of text/corpus.h's stories, written with this seed and so unseen.
 * Skipped where the vocabulary lacks one of their characters. Errors of corpus_make too. */
enum status possible_entropy(struct verdict *v, const struct gpt *g, struct work *w, const struct tokenizer *t,
                             size_t size, uint64_t seed, struct error *err);

#endif
