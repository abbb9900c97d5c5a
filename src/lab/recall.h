/* How reliable are the detectors? Every fault of the catalogue is planted in many models of random shape, fresh and
 * trained, in every layer and head that chance brings, and the detectors are asked; then they are asked about correct
 * models, of which none may be blamed. */
#ifndef LAB_RECALL_H
#define LAB_RECALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"
#include "diag/catalogue.h"
#include "diag/detect.h"

/* Detectors, and training on symbols of which nothing can be learnt (impossible.h). */
#define RECALL_LEARNING DETECT_COUNT
#define RECALL_COLUMNS (DETECT_COUNT + 1)
#define RECALL_FAULTS 64

struct recall_fault {
    const struct catalogue_entry *entry;
    size_t trials[RECALL_COLUMNS]; /* in how many models the detector could look */
    size_t caught[RECALL_COLUMNS];
    size_t models, caught_by_any;
    size_t located;   /* ... with the right layer, head, operation and offset pattern, and no other place blamed */
    char missed[192]; /* the first model in which it was not caught, or not located */
};

struct recall {
    struct recall_fault fault[RECALL_FAULTS]; /* (catalogue_size) */
    size_t correct, alarms;                   /* correct models, and those in which something was found */
    size_t alarms_by[RECALL_COLUMNS];
    char alarm[512]; /* the first false alarm: model, detector, what it said */
};

struct recall_options {
    size_t trials;  /* models per fault */
    size_t correct; /* correct models */
    uint64_t seed;
    struct team team; /* models compute on one or two of its threads, with any kernels up to its own */
    const char *only; /* one fault alone; NULL: all */
    /* After each model. True stops with STATUS_INTERRUPTED. NULL: never asked. */
    bool (*progress)(void *context, size_t done, size_t total);
    void *context;
};

/* STATUS_INTERRUPTED, STATUS_MEMORY, STATUS_NONFINITE. */
enum status recall_run(struct recall *r, const struct recall_options *o, struct error *err);

/* The column's name: a detector's, or "learning". */
const char *recall_column(size_t column);

#endif
