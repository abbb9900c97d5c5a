/* All detectors on one model: each adds a line to the verdict, and what it found.
 *
 *     suffix      change every symbol from t on: logits before t stay the same bits; with and without logging, dropout
 *     gradient    what a logit's gradient reaches: nothing at later positions
 *     blocks      the same on every block alone, operation by operation, head by head, for small and huge changes
 *     definition  each operation is worked out again in double from its formula
 *     backward    each gradient of a block is worked out again in double from its formula
 *     trunk       the whole backward pass is the blocks' put together, embeddings and output head included
 *     loss        loss and gradient are the cross-entropy of the targets
 *     training    a training pass without dropout gives evaluation's bits, every batch row the same logits
 *     batch       rows of a batch keep to themselves
 *     decode      one symbol at a time, with its cache, gives what a whole window gives
 *     generation  the loss when nothing later is there at all: what the future is worth
 *     margin      how large scores are, against masks that are finite numbers
 *     stress      the leak check again with query and key weights scaled up
 *     uniform     the loss on uniform symbols is not below ln V
 *     entropy     the loss on unseen text of known entropy is not below it
 *     targets     targets are the symbols after the inputs
 *     overlap     training and validation share nothing */
#ifndef DIAG_DETECT_H
#define DIAG_DETECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/gpt.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

struct detect {
    const struct gpt *g;
    struct work *w;                    /* made for training, whole windows (asserted), two rows or more to be of use */
    const struct dataset *data;        /* the run's text, or NULL: then symbols are drawn at random */
    const struct tokenizer *tokenizer; /* NULL: the text of known entropy is left out */
    uint64_t seed;
    /* Asked before each detector, with its name and how many of how many have been asked. True stops with
     * STATUS_INTERRUPTED. NULL: never. */
    bool (*stop)(void *context, const char *detector, size_t done, size_t total);
    void *context;
    bool quick; /* suffix and gradient by one pair, loss, batch, decode, generation, targets and overlap */
};

/* Fills *v, blank before. The model is left with the bits it had. A leak is no error. STATUS_NONFINITE when logits or
 * gradients are not finite: then nothing can be said. STATUS_INTERRUPTED, STATUS_RANGE, STATUS_MEMORY. */
enum status detect_run(struct verdict *v, const struct detect *d, struct error *err);

/* Names of the detectors, in the order above. */
#define DETECT_COUNT 17
extern const char *const detect_names[DETECT_COUNT];

#endif
