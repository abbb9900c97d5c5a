/* The exact loss of a model over a text. */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model/gpt.h"
#include "text/dataset.h"

struct evaluate_options {
    size_t T;           /* window length, 1 .. w->T */
    size_t stride;      /* 0 or T: windows stand end to end; less: each target but the first T sees at least T - stride
                           symbols before it */
    size_t max_windows; /* 0: all; otherwise at most this many whole ones, evenly spread */
    /* Asked between batches; true stops with STATUS_INTERRUPTED. NULL: never. */
    bool (*stop)(void *context, size_t windows_done, size_t windows);
    void *context;
};

struct evaluation {
    double loss;   /* mean, nats per symbol; NaN when there is no target */
    size_t tokens; /* targets counted, each once */
    /* By position within the window: sum of losses and number of targets, each (T). The caller's, or NULL. */
    double *position_loss;
    size_t *position_count;
};

/* Symbols [begin, end) of d: the first is read only, every other is a target once. Sums are in double, in order.
 * position_loss and position_count are set before the call and added to. STATUS_NONFINITE (names the window),
 * STATUS_INTERRUPTED, STATUS_MEMORY. */
enum status evaluate(struct evaluation *e, const struct gpt *g, struct work *w, const struct dataset *d, size_t begin,
                     size_t end, const struct evaluate_options *o, struct error *err);

#endif
