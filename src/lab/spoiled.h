/* Do the verdicts on attention heads (diag/head_watch.h) come when they should, and only then? One small model is
 * trained with several seeds as it should be, and spoiled in three ways:
 *   fast     the learning rate is SPOILED_TIMES too high
 *   frozen   W_Q and W_K (and their biases) are put back after every update
 *   hot      scores are divided by SPOILED_TEMPERATURE more than sqrt(head size)
 * The watch is the trainer's own (train/watching.h). A run is right when a good one is told nothing; a fast one of a
 * collapse, before its loss is not finite if it ever is; a frozen one of uniform heads, or of frozen ones where they
 * are not uniform, and why; a hot one of uniform heads and why. */
#ifndef LAB_SPOILED_H
#define LAB_SPOILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"
#include "diag/head_finding.h"
#include "text/dataset.h"

#define SPOILED_LAYERS 2
#define SPOILED_HEADS 4
#define SPOILED_CHANNELS 64
#define SPOILED_CONTEXT 64
#define SPOILED_ROWS 8
#define SPOILED_RATE 3e-3 /* a tenth of the steps warms up, the rest follows the cosine to a hundredth */
#define SPOILED_TIMES 30
#define SPOILED_TEMPERATURE 20
#define SPOILED_LEAST 100 /* steps: fewer are too few to tell a run by */
#define SPOILED_EVERY 100 /* steps between comparisons of maps */

enum spoiled_kind { SPOILED_NOT, SPOILED_FAST, SPOILED_FROZEN, SPOILED_HOT, SPOILED_KINDS };

/* What was said, in one line of training's. */
struct spoiled_verdict {
    size_t step;
    double loss; /* of that step's batch */
    enum head_finding_kind kind;
    enum head_finding_cause cause;
    char says[HEAD_FINDING_WORDS];
};

/* How near a run came to what is said: the figures that the rules compare. */
struct spoiled_margins {
    double score;       /* the largest of a head that narrows (head_watch_narrows), or 0 */
    double turn;        /* median over heads, when nine of ten were last uniform */
    double temperature; /* median over heads, at the last probe */
    double moved;       /* the least turn of a head over what it was due, from step HEAD_WATCH_LEAST on */
    double share;       /* the least of a head, from then on */
    double distance;    /* the least between two heads that are not uniform; INFINITY where there were none */
};

#define SPOILED_VERDICTS 16 /* that are kept of a run */
struct spoiled_training {
    enum spoiled_kind kind;
    uint64_t seed;
    size_t verdicts; /* in all; the first SPOILED_VERDICTS are kept */
    struct spoiled_verdict verdict[SPOILED_VERDICTS];
    double first_loss, last_loss;
    size_t above;     /* the first step whose loss is a tenth above the first step's, a spike or worse; 0: none */
    size_t nonfinite; /* the step whose loss or gradient was not finite, which ended it; 0: none */
    bool right;
    struct spoiled_margins margins;
};

struct spoiled {
    size_t runs;
    struct spoiled_training *run; /* (runs): the good ones, then each kind of spoiled ones */
    size_t good, good_right, bad, bad_right;
};

struct spoiled_options {
    const struct dataset *data; /* NULL: a text of the corpus generator */
    size_t vocab_size;          /* of data */
    size_t trials;              /* good seeds, `seed` and those after it; > 0 */
    size_t spoilt;              /* seeds of each spoiled kind; > 0 */
    uint32_t steps;             /* of each run, at least SPOILED_LEAST */
    uint64_t seed;
    struct team team;
    /* Asked before every step, of `total` of all runs. True stops with STATUS_INTERRUPTED. NULL: never. */
    bool (*progress)(void *context, size_t done, size_t total);
    void *context;
};

/* "good", "lr x30", "frozen q, k", "temperature 20". */
const char *spoiled_name(enum spoiled_kind kind);

/* The same bits for the same options and number of threads. STATUS_RANGE: the text is too short. STATUS_INTERRUPTED,
 * STATUS_MEMORY; STATUS_NONFINITE when a run other than a fast one is. Free with spoiled_free. */
enum status spoiled_run(struct spoiled *r, const struct spoiled_options *o, struct error *err);
void spoiled_free(struct spoiled *r);

#endif
