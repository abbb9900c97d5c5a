/* A bare training loop, for labs: no files, no schedule, no evaluation. */
#ifndef LAB_DRILL_H
#define LAB_DRILL_H

#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"
#include "text/dataset.h"

struct drill {
    struct gpt *g;
    struct work *w; /* for training; its B and T are those of a step */
    const struct dataset *data;
    double lr; /* constant; AdamW with betas 0.9, 0.99, no decay, gradients clipped to 1 */
    uint64_t seed;
    /* Called before each step, to change the text; NULL: it stays. */
    void (*renew)(void *context, uint32_t step);
    void *context;
    double loss; /* of the last step */
};

/* Steps 0 .. steps - 1. STATUS_NONFINITE, STATUS_MEMORY. */
enum status drill_run(struct drill *d, uint32_t steps, struct error *err);

#endif
