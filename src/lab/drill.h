/* A bare training loop, for labs: no files, no schedule, no evaluation. */
#ifndef LAB_DRILL_H
#define LAB_DRILL_H

#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"
#include "text/dataset.h"
#include "train/learner.h"

struct drill {
    struct gpt *g;
    struct work *w; /* for training; its B and T are those of a step */
    const struct dataset *data;
    const struct learner *learner; /* NULL: g learns from data; else what it says, whose parameters are those of g */
    double lr;                     /* constant; AdamW with betas 0.9, 0.99, no decay, gradients clipped to 1 */
    uint64_t seed;
    /* Called before each step, to change the text; NULL: it stays. */
    void (*renew)(void *context, uint32_t step);
    /* Called before the first step (done = 0) and after each, to look at the model; what is not STATUS_OK ends the
     * drill and is what it returns. NULL: never. */
    enum status (*watch)(void *context, uint32_t done, struct error *err);
    void *context; /* of both */
    double loss;   /* of the last step */
};

/* Steps 0 .. steps - 1. STATUS_NONFINITE, STATUS_MEMORY, and what `watch` says. */
enum status drill_run(struct drill *d, uint32_t steps, struct error *err);

#endif
