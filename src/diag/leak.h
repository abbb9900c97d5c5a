/* Does any position see its own future? Checked on the model itself, with the passes that train it.
 *
 * Two detectors, both exact (no tolerance: the same shape, rows, lanes and random counters give the same bits):
 *   suffix    change every token from position t on; each logit before t must stay the same number
 *   gradient  send a random projection of the logits at i back; its gradient at the embedding of every j > i must
 *             be exactly zero. Each i has a batch row of its own and absolute values are taken, so nothing cancels.
 * Logging must not change a bit of the logits. After a failure each block is tried alone, operation by operation and
 * head by head, to say where. */
#ifndef DIAG_LEAK_H
#define DIAG_LEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "diag/chart.h"
#include "model/gpt.h"

#define LEAK_NO_LAYER ((size_t)-1)
#define LEAK_NO_HEAD ((size_t)-1)

/* One place that leaks. */
struct leak_place {
    size_t layer;             /* LEAK_NO_LAYER before and after the blocks */
    size_t head;              /* LEAK_NO_HEAD when the operation has none */
    const char *operation;    /* "attention", "LayerNorm 1", ... */
    bool backward;            /* the forward pass is right, the gradient is not */
    struct chart_shape shape; /* which later positions are seen */
};

#define LEAK_PLACES 256

struct leak_report {
    bool leak;
    bool suffix_leaks, gradient_leaks;
    bool own_row;                                            /* the suffix was that of the same batch row */
    bool logging_leaks;                                      /* logits are other bits when attention logs nothing */
    size_t suffix_position;                                  /* a t at which the suffix test failed */
    double suffix_change;                                    /* the largest change of an earlier logit */
    double gradient_size;                                    /* the largest |d logits_i / d embedding_j|, j > i */
    size_t positions;                                        /* how many t were tried */
    size_t gradients;                                        /* how many i a gradient was sent back from */
    double suffix_seconds, gradient_seconds, locate_seconds; /* what each took */
    size_t places;                                           /* found, of which the first LEAK_PLACES are listed */
    struct leak_place place[LEAK_PLACES];
};

/* How much to do. */
enum leak_effort {
    LEAK_QUICK, /* one perturbed pair of passes and one gradient pass of up to four rows (two when a batch is one row,
                   so that t = 1 and T - 1 are always tried, others at random): at every evaluation */
    LEAK_FULL,  /* 32 positions t or a few more (t = 1 and T - 1 always), gradients likewise, with and without dropout
                   and logging: before the first step */
    LEAK_EVERY, /* ... and every t there is: of a trained model */
};

/* Checks g over w's whole shape. w was made for training and belongs to this call meanwhile; the model is not changed.
 * With one symbol in the vocabulary tokens cannot be changed and the gradient test stands alone; with T = 1 there is no
 * future. STATUS_NONFINITE when logits or gradients are not finite: then nothing can be said. A leak is no error. */
enum status leak_check(struct leak_report *r, const struct gpt *g, struct work *w, enum leak_effort effort,
                       uint64_t seed, uint32_t step, struct error *err);

/* One line: "no leak (...)" with what was tried, or where and how much: "leak: layers 0-3 heads 0-3: attention sees
 * all later positions; layer 1 head 2: attention sees ...; changing tokens from position 1 on changes ...". */
void leak_describe(char *out, size_t size, const struct leak_report *r);

#endif
