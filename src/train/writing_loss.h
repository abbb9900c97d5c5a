/* The loss as the model writes (diag/generation.h), at the price of a few training steps: a short look at each
 * evaluation, where a leak shows as a gap that whole windows hide. */
#ifndef TRAIN_WRITING_LOSS_H
#define TRAIN_WRITING_LOSS_H

#include "base/status.h"
#include "diag/generation.h"
#include "model/gpt.h"
#include "text/dataset.h"

/* Windows of the validation part, evenly spread, and symbols of each: at most. */
#define WRITING_LOSS_WINDOWS ((size_t)4)
#define WRITING_LOSS_SYMBOLS ((size_t)64)

/* The same windows every time. Both losses are NaN where the validation part has no two symbols. w is overwritten. No
 * more symbols than w->T. STATUS_NONFINITE, STATUS_MEMORY. */
enum status writing_loss(struct generation *r, const struct gpt *g, struct work *w, const struct dataset *data,
                         struct error *err);

#endif
