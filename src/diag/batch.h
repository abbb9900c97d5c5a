/* Do rows of a batch keep to themselves? Every other row is changed: a row's logits must stay the same bits, and a
 * gradient that starts in one row must not reach another. */
#ifndef DIAG_BATCH_H
#define DIAG_BATCH_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"

/* Adds the line "batch" and what it found, located by operation. w made for training, with room for two rows or more
 * (fewer: the line says so), of which up to four are used. STATUS_MEMORY. */
enum status batch_check(struct verdict *v, const struct gpt *g, struct work *w, uint64_t seed, struct error *err);

#endif
