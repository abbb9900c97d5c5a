/* Short runs that tell whether a model can learn, before it is trained in earnest: the first loss, one batch learnt by
 * heart, inputs that say nothing, and a sweep of learning rates. Every run begins with the same first weights, moments
 * zero, and reads its windows from the train part as training with this seed would. */
#ifndef LAB_LEARNING_H
#define LAB_LEARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "train/trainer.h"

struct learning {
    struct trainer *trainer; /* after trainer_create; its model, moments and batch are used and left changed */
    real *first;             /* (table.size) the weights that every run begins with */
    double seconds;          /* a run is cut when it takes longer; cut or not, its updates are the same */
    /* Asked before each update, with the run's name and how many of how many updates are done. True stops with
     * STATUS_INTERRUPTED. NULL: never. */
    bool (*stop)(void *context, const char *run, size_t done, size_t total);
    void *context;
    /* What learning_blinded does to the inputs (n of them) of targets; NULL: makes all of them symbol 0. Tests plant
     * inputs that give the targets away. */
    void (*blind)(uint32_t *tokens, const uint32_t *targets, size_t n);
};

/* `trainer` and what follows `first` are set before; takes the trainer's weights as the first ones. STATUS_MEMORY. */
enum status learning_open(struct learning *l, struct error *err);

/* Puts the first weights back. */
void learning_close(struct learning *l);

/* The loss of the first weights on the first batch, no dropout. A logit is a row of the output matrix, N(0, 0.02^2) at
 * the start (params_init), times a normalised hidden state of length sqrt(C): N(0, s^2) with s = 0.02 sqrt(C), and it
 * knows nothing of the target. So the loss is expected at
 *   ln V + s^2 / 2,    the mean of exp of such a number being exp(s^2 / 2),
 * with a deviation of s sqrt(sum of f^2), f the shares of the symbols among the targets: `spread`. */
struct learning_first {
    double loss, expected, spread; /* nats */
};
void learning_first(struct learning_first *r, struct learning *l);

/* One batch of up to LEARNING_ROWS windows, over and over, no dropout. Where windows begin alike, what follows cannot
 * be told apart: `floor` is the entropy that is left, and the loss has to come close to that.
 *   goal = floor + 5 % of (first loss - floor)
 * STATUS_INTERRUPTED. */
#define LEARNING_ROWS 4
#define LEARNING_BATCH_UPDATES 300
struct learning_batch {
    size_t rows, symbols, updates;
    double first, last, floor, goal; /* nats; last is not finite when the loss became so */
    bool reached, cut;
};
enum status learning_batch(struct learning_batch *r, struct learning *l, struct error *err);

/* Training as usual, but for inputs that all are one symbol: the place in the window is all that is left to learn from.
 * The loss on fresh windows, no dropout, must come to the entropy of the targets over all places in the train part
 * (for each place in the window alone, which matters only when the text is hardly longer than that) and never below.
 * STATUS_INTERRUPTED. */
#define LEARNING_BLIND_UPDATES 150
#define LEARNING_BLIND_BATCHES 16
struct learning_blinded {
    size_t updates;
    double loss, error; /* nats; the standard error of the mean over windows. Not finite when the loss became so */
    double entropy;
    bool cut;
};
enum status learning_blinded(struct learning_blinded *r, struct learning *l, struct error *err);

/* Short runs at rates a factor of about 3 apart, on the same batches, with the trainer's dropout, decay, betas and
 * clipping, and its schedule in small: a third of the updates warms up, the rest follows the cosine. A run's loss is
 * the mean over its last quarter.
 *   best         the rate of the lowest loss
 *   recommended  the highest of the rates that lose at most 4 % more: short runs, which hardly leave the warm-up, are
 *                unfair to high rates. On tinyshakespeare 1e-3 is ahead by 2.2 % after 100 updates, and 3e-3 after
 *                1000 (1.883 for 1.946); 1e-2, 9 % behind, stays there (2.476)
 * Both are 0 where no run fell below the loss of the first update by 5 % of it and by the noise of its last quarter,
 * four standard errors: then none has learnt. When time is short each run has fewer updates, all the same number.
 * STATUS_INTERRUPTED. */
#define LEARNING_RATES 5
#define LEARNING_RATE_UPDATES 100
struct learning_sweep {
    double rate[LEARNING_RATES], loss[LEARNING_RATES]; /* INFINITY where a run diverged */
    double error[LEARNING_RATES];                      /* standard error over the last quarter's updates */
    double first;                                      /* the loss of the first update */
    size_t updates;                                    /* of each run */
    bool cut;
    double best, recommended;
};
enum status learning_sweep(struct learning_sweep *r, struct learning *l, struct error *err);

#endif
