/* The mistakes that let a model peek, by name: what detectors are tried on, and what the mask trap shows.
 *
 *     const struct catalogue_entry *e = catalogue_find("no-mask");
 *     struct fault fault;
 *     catalogue_plant(&fault, &model, &data, e, FAULT_EVERYWHERE, FAULT_EVERYWHERE);
 *     ...
 *     catalogue_remove(&model, &data); */
#ifndef DIAG_CATALOGUE_H
#define DIAG_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "diag/chart.h"
#include "model/fault.h"
#include "model/gpt.h"
#include "text/dataset.h"

struct catalogue_entry {
    const char *name;        /* "no-mask" */
    const char *says;        /* in words: lower-case start, no full stop */
    struct fault fault;      /* layer and head as catalogue_plant is told */
    enum dataset_fault data; /* DATASET_FAULT_NONE: it lies in the model */

    /* What locating must say of it. */
    enum chart_pattern pattern; /* CHART_CAUSAL: it is not about later positions, or has no fixed pattern */
    const char *operation;      /* NULL: it has no operation */
    /* What it takes to show, 0 for nothing: smaller models suffer nothing from it. */
    size_t least_layers, least_length, least_batch;

    bool needs_dropout;
    bool needs_window; /* acts on heads whose rule is a window */
    bool needs_tiles;  /* shows where a text is longer than the attention's tile; least_length is of its own */
    bool backward;     /* only the gradient is wrong */
    bool one_layer;    /* may be planted in one layer, otherwise it has none */
    bool one_head;     /* ... in one head */
    bool trains;       /* a model can be trained with it: it acts in whole-window passes or on the data */
};

extern const struct catalogue_entry catalogue[];
extern const size_t catalogue_size;

/* NULL when there is none of this name. */
const struct catalogue_entry *catalogue_find(const char *name);

/* Fills *fault (which must outlive the planting) and lets the model and the data suffer from it. data may be NULL for a
 * fault that lies in the model. A layer or head is taken only where the entry has one (asserted to exist). */
void catalogue_plant(struct fault *fault, struct gpt *g, struct dataset *data, const struct catalogue_entry *e,
                     size_t layer, size_t head);

/* Takes whatever was planted out again. data may be NULL. */
void catalogue_remove(struct gpt *g, struct dataset *data);

#endif
