/* The oldest sign of a leak: a model that learns to predict what cannot be predicted. A small model with a fault is
 * trained on symbols drawn uniformly, fresh in every batch, of which nothing can be learnt but how to peek. */
#ifndef LAB_IMPOSSIBLE_H
#define LAB_IMPOSSIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"
#include "base/status.h"
#include "diag/catalogue.h"

struct impossible {
    double loss, possible; /* mean training loss of the last steps; ln V */
    double error;          /* standard error of the mean, from the losses of single steps */
    bool below;            /* by more than four standard errors */
};

/* e NULL: no fault. STATUS_NONFINITE, STATUS_MEMORY. */
enum status impossible_run(struct impossible *r, const struct catalogue_entry *e, uint64_t seed, enum isa isa,
                           struct error *err);

#endif
