/* One head of attention against several of the same total size, on a task that needs two kinds of look-up at once.
 *
 * A text is LOOKUPS_ITEMS items and a question. An item is one symbol that stands for a key and a value; every key is
 * there once, in random order, with a random value. The question names a key. The answer is one symbol for a pair:
 *   the value of the item with that key          (looked up by content: where it stands changes from text to text)
 *   the value of the item two places back        (looked up by place: what stands there changes)
 *
 * Each head has one softmax, so one weight for each item, and gives one mean of what the items say. The MLP is left out
 * (its output matrix is held at 0), so the answer is read off the question's own symbol and that mean by a linear map,
 * LayerNorm apart. Half of one item and half of another tell which two values there are, but not which of them is the
 * answer to what. Two heads keep them apart: each has its own mean, in channels of its own.
 *
 * That a head alone cannot do it at all would be too much to say. Weight split unequally, always in the same
 * proportion, can be told apart by how much of each arrives, and some seeds find that, more of them at lower rates. As
 * a rule a lone head stays with one look-up: the place is easier and learnt first, it takes all the weight, and through
 * a softmax that has settled on one item the gradient that asks for the other comes to nearly nothing (lab/scaling.h).
 * Of several heads one can settle there while another is still free.
 *
 * All models have one layer, as many parameters, the same first weights (heads are only how the columns of W_Q, W_K and
 * W_V are shared out) and see the same texts. Only the answer counts for the loss. */
#ifndef LAB_LOOKUPS_H
#define LAB_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"

#define LOOKUPS_ITEMS 4 /* keys, and items of a text */
#define LOOKUPS_VALUES 12
#define LOOKUPS_CHANNELS 32 /* in all heads together */
#define LOOKUPS_MODELS 3    /* with 1, 2 and 4 heads */
#define LOOKUPS_MOST_HEADS 4
#define LOOKUPS_MOST_SEEDS 16
#define LOOKUPS_ROWS 64 /* texts a step */

/* What a model that has learnt one look-up and guesses the other gets right: the key asked for is the one two back, or
 * the guess is right. */
#define LOOKUPS_ONE_ALONE (1.0 / LOOKUPS_ITEMS + (1 - 1.0 / LOOKUPS_ITEMS) / LOOKUPS_VALUES)

/* Where a head looks from the question, over fresh texts in which the two items are not the same one. */
struct lookups_head {
    double by_content, by_place; /* mean weight on either item */
    double entropy;              /* normalised, mean */
};

struct lookups_result {
    double accuracy, loss; /* on fresh texts: share of answers that are right; nats an answer */
    struct lookups_head head[LOOKUPS_MOST_HEADS];
};

#define LOOKUPS_SOLVED 0.95 /* of the answers right, at least */

struct lookups_model {
    size_t heads;
    size_t parameters;
    size_t solved; /* seeds */
    struct lookups_result seed[LOOKUPS_MOST_SEEDS];
    double accuracy, loss; /* medians over seeds */
};

struct lookups {
    size_t seeds;
    struct lookups_model model[LOOKUPS_MODELS];
};

struct lookups_options {
    size_t seeds;   /* 1 .. LOOKUPS_MOST_SEEDS: `seed` and those after it */
    uint32_t steps; /* > 0 */
    uint64_t seed;
    struct team team;
    /* Asked before every step, of `total` of all trainings. True stops with STATUS_INTERRUPTED. NULL: never. */
    bool (*progress)(void *context, size_t done, size_t total);
    void *context;
};

/* The same bits for the same options and number of threads. STATUS_INTERRUPTED, STATUS_MEMORY, STATUS_NONFINITE. */
enum status lookups_run(struct lookups *r, const struct lookups_options *o, struct error *err);

/* The texts of one step of a seed, for tests. */
#define LOOKUPS_LENGTH (LOOKUPS_ITEMS + 1)
#define LOOKUPS_QUESTIONS (LOOKUPS_ITEMS * LOOKUPS_VALUES)  /* the first symbol that is a question */
#define LOOKUPS_ANSWERS (LOOKUPS_QUESTIONS + LOOKUPS_ITEMS) /* the first that is an answer */
#define LOOKUPS_SYMBOLS (LOOKUPS_ANSWERS + LOOKUPS_VALUES * LOOKUPS_VALUES)

struct lookups_text {
    uint32_t symbol[LOOKUPS_LENGTH]; /* key * LOOKUPS_VALUES + value, and LOOKUPS_QUESTIONS + key */
    uint32_t answer;                 /* LOOKUPS_ANSWERS + value by content * LOOKUPS_VALUES + value by place */
    size_t by_content, by_place;     /* where the items stand */
};

void lookups_draw(struct lookups_text *text, uint64_t seed, uint32_t step, uint32_t row);

#endif
