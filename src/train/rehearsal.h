/* How long a run will take, from a short measurement of its parts: updates on the run's own batches, and one evaluation
 * with all that belongs to it, of whose windows a few thousand symbols stand for all. */
#ifndef TRAIN_REHEARSAL_H
#define TRAIN_REHEARSAL_H

#include <stddef.h>

#include "base/status.h"
#include "train/trainer.h"

struct rehearsal {
    double step, evaluation; /* seconds of one: the median of `measured` updates, and one evaluation */
    size_t measured;
    size_t steps, evaluations; /* still to come, from state->step to the end of the run */
    double seconds;            /* of all of them; the time of writing checkpoints is not in it */
};

/* Measures for about `seconds`, at least two updates. Nothing is written, but these updates are real: weights, moments
 * and state are of no use afterwards. STATUS_NONFINITE, STATUS_MEMORY. */
enum status rehearsal_run(struct rehearsal *r, struct trainer *t, double seconds, struct error *err);

#endif
