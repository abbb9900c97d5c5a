/* One deliberate mistake in a model, for detectors to find. Only diag/, lab/ and tests make one; diag/catalogue.h
 * lists them by name. All zero is no mistake. */
#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/real.h"
#include "base/team.h"
#include "kernels/attention_shape.h"

#define FAULT_EVERYWHERE ((size_t)-1)

/* When the fault of the attention shows. */
enum fault_when {
    FAULT_ALWAYS,
    FAULT_WITH_DROPOUT, /* while training with dropout */
    FAULT_WHEN_LOGGED,  /* in passes that log entropy and scores */
    FAULT_IN_PREFILL,   /* where several symbols enter the KV cache at once */
};

/* What rows are mixed up with each other. */
enum fault_mixing {
    FAULT_NO_MIXING,
    FAULT_TIME_MEAN,  /* the mean over the whole window is taken off, as a normalisation over time does */
    FAULT_BLOCK_MEAN, /* the mean over its block of positions is added to each */
    FAULT_BATCH_MEAN, /* the mean over the batch, at the same position, is taken off */
    FAULT_BATCH_NEXT, /* half of the next batch row, at the same position, is added */
};

/* After which operation. */
enum fault_place {
    FAULT_EMBEDDINGS,
    FAULT_LN1,
    FAULT_ATTENTION,
    FAULT_LN2,
    FAULT_GELU,
    FAULT_LNF,
};

enum fault_decode {
    FAULT_NO_DECODE,
    FAULT_CACHE_ONE_BACK,     /* a new key takes the place of the one before it */
    FAULT_CACHE_NOT_RESET,    /* a new text goes on where the last one ended */
    FAULT_CACHE_NOT_REFILLED, /* the window slides, the cache stays */
    FAULT_CACHE_NEXT_ROW,     /* in a batch, what a row puts into the cache goes to the next row */
};

struct fault {
    enum attention_fault attention; /* in this layer and head, or FAULT_EVERYWHERE */
    enum fault_when when;
    enum fault_mixing mixing;
    enum fault_place place;
    size_t block; /* positions, for FAULT_BLOCK_MEAN */
    enum fault_decode decode;
    size_t layer, head;
};

/* What the attention of a layer suffers in one pass; NONE where f (NULL is no fault) is elsewhere or dormant. */
enum attention_fault fault_attention(const struct fault *f, size_t layer, bool dropping, bool logging, bool prefill);

/* x (B,T,width): mixes rows where f says so at this place and layer; else nothing, and no barrier. Every mixing is a
 * matrix applied over positions or batch rows; `transposed` applies its transpose, which is what gradients need. All
 * lanes call it; when it does mix, a barrier stands before and after. */
void fault_mix(const struct lane *lane, const struct fault *f, enum fault_place place, size_t layer, real *x, size_t B,
               size_t T, size_t width, bool transposed);

#endif
