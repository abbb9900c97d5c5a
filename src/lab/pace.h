/* How fast a model writes: one text, one symbol at a time, on one thread. Within the context each symbol costs one
 * row, thanks to the cache; past it the window slides under the learned positions and is computed again (decode.h). */
#ifndef LAB_PACE_H
#define LAB_PACE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/decode.h"
#include "model/sample.h"

struct pace {
    struct decode decode;
    struct sample_scratch scratch;
    struct arena arena;
};

/* STATUS_RANGE, STATUS_MEMORY. The model must outlive p. */
enum status pace_create(struct pace *p, const struct gpt *model, enum isa isa, struct error *err);
void pace_free(struct pace *p);

/* Symbols a second, from one symbol up to a full context, again and again for at least `seconds`. The context is at
 * least 2 (asserted). STATUS_NONFINITE. */
enum status pace_within(double *per_second, struct pace *p, double seconds, struct error *err);

/* ... and when the context is full already. */
enum status pace_past(double *per_second, struct pace *p, double seconds, struct error *err);

#endif
