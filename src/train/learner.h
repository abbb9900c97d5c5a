/* What the trainer sees of a model: three functions. gpt_learner.h makes one from a GPT and a text. */
#ifndef TRAIN_LEARNER_H
#define TRAIN_LEARNER_H

#include <stddef.h>

#include "base/real.h"
#include "base/status.h"
#include "model/params.h"
#include "text/dataset.h"

struct learner {
    void *self;

    /* Adds to grads (one number a parameter) the gradient of the mean loss over the whole batch of update `step`, and
     * returns that loss, nats per symbol; NaN or infinite as it comes. */
    double (*loss_and_gradient)(void *self, size_t step, real *grads);

    /* The loss over a fixed sample of a part, without dropout and without a trace on training. *loss is NaN when the
     * part is too short to have one. STATUS_NONFINITE. */
    enum status (*evaluate)(void *self, enum dataset_part part, double *loss, struct error *err);

    /* The parameters: their table, and where they lie. */
    const struct params_table *(*parameters)(void *self, real **values);
};

#endif
