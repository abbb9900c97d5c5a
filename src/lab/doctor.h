/* What an expert looks at before training: is the program sound for this model, can the model learn, and is there
 * anything in the text to be learnt. Nothing is written; the model that is examined is the one that would be trained.
 *
 *     first loss    the loss of the first weights is ln V, as far as chance allows
 *     gradient      every gradient is what its formula says, worked out again in double (backward, trunk, loss)
 *     rows          rows of a batch keep to themselves
 *     leak          no position sees its own future
 *     windows       targets are the symbols after the inputs, and the parts do not overlap
 *     one batch     a batch can be learnt by heart
 *     blinded       with inputs that say nothing the loss comes to the entropy of the symbols, and not below
 *     rates         which learning rate learns fastest in a short run
 *     n-grams       what counting predicts: the bar to beat
 *     copies        how much of the validation part stands in the train part word for word
 *     cost          memory and time of the whole run */
#ifndef LAB_DOCTOR_H
#define LAB_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "lab/learning.h"
#include "text/ngram.h"
#include "text/repeats.h"
#include "train/rehearsal.h"
#include "train/trainer.h"

enum doctor_check {
    DOCTOR_FIRST,
    DOCTOR_GRADIENT,
    DOCTOR_ROWS,
    DOCTOR_LEAK,
    DOCTOR_WINDOWS,
    DOCTOR_BATCH,
    DOCTOR_BLINDED,
    DOCTOR_RATES,
    DOCTOR_NGRAMS,
    DOCTOR_COPIES,
    DOCTOR_COST,
    DOCTOR_CHECKS
};

struct doctor_line {
    enum verdict_outcome outcome;
    char found[240], expected[120]; /* lower-case start, no full stop; expected may be "" */
};

/* What the text is, the first that holds. */
enum doctor_text {
    DOCTOR_CONSTANT,    /* the train part is one symbol over and over: nothing to predict */
    DOCTOR_COPIED,      /* half of the validation part or more stands in the train part */
    DOCTOR_SHORT,       /* the train part has fewer than DOCTOR_FEW symbols, or fewer than 20 of each kind */
    DOCTOR_UNVALIDATED, /* no validation part: nothing can be said */
    DOCTOR_INDEPENDENT, /* no order of n-gram gains on order 1: noise, or what looks like it */
    DOCTOR_STRUCTURED,  /* what came before helps to predict */
    DOCTOR_TEXTS
};
#define DOCTOR_FEW 10000 /* symbols: too few for any model not to learn them by heart */

extern const char *const doctor_names[DOCTOR_CHECKS];
extern const char *const doctor_texts[DOCTOR_TEXTS]; /* "constant", "copied", ... */

struct doctor {
    /* The caller's. */
    struct trainer *trainer; /* after trainer_create, state->step 0; of no use for training afterwards */
    bool known_start;        /* the first weights are another run's, which need not know nothing */
    double max_time;         /* seconds that the short runs may take together; 0: no limit */
    bool (*stop)(void *context, const char *check, size_t done, size_t total); /* as learning.stop; NULL: never */
    void *context;

    /* What was found. */
    struct doctor_line line[DOCTOR_CHECKS];
    struct learning_first first;
    struct learning_batch batch;
    struct learning_blinded blinded;
    struct learning_sweep sweep;
    struct ngram_losses ngrams;
    struct repeats repeats;
    bool one_symbol; /* the train part has no other */
    struct rehearsal cost;
    size_t bytes;           /* that training takes: text, weights and all */
    struct verdict verdict; /* of all detectors: diag/detect.h */
    enum doctor_text text;
    size_t best_order; /* of the n-gram with the lowest loss, 1 .. NGRAM_ORDERS; 0 when none was read */
    bool leak;         /* predictions see what they predict */
    bool failed;       /* a check of the program, or of the model's ability to learn, failed */
};

/* STATUS_OK whatever was found. STATUS_INTERRUPTED; STATUS_NONFINITE when the first weights give no finite numbers;
 * STATUS_RANGE, STATUS_MEMORY. */
enum status doctor_run(struct doctor *d, struct error *err);

/* Makes the lines, the text and the flags of what was measured; doctor_run calls it. */
void doctor_judge(struct doctor *d);

#endif
