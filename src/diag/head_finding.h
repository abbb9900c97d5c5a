/* What is said of attention heads while they are trained (head_watch.h finds it): its kind, its figures, its words. */
#ifndef DIAG_HEAD_FINDING_H
#define DIAG_HEAD_FINDING_H

#include <stddef.h>

enum head_finding_kind {
    HEAD_FINDING_COLLAPSE,  /* entropy falls fast while the largest score rises */
    HEAD_FINDING_UNIFORM,   /* attention is still uniform when a model that learns has left that behind */
    HEAD_FINDING_FROZEN,    /* queries and keys stay where they were, though attention is not uniform */
    HEAD_FINDING_DEAD,      /* the head adds nothing to what passes by it */
    HEAD_FINDING_DUPLICATE, /* heads of a layer look at the same places */
    HEAD_FINDING_KINDS
};

/* Why attention is uniform. */
enum head_finding_cause {
    HEAD_FINDING_NO_CAUSE,
    HEAD_FINDING_STILL, /* queries and keys stay where they were */
    HEAD_FINDING_HOT,   /* they learn, but the softmax divides their scores by much more than sqrt(head size) */
    HEAD_FINDING_FLAT,  /* they learn, and scores stay alike all the same */
};

/* Heads of one layer. A figure that does not belong to the kind is NaN. */
struct head_finding {
    enum head_finding_kind kind;
    enum head_finding_cause cause; /* of UNIFORM */
    size_t step, layer;
    size_t count, of;                   /* heads that it is said of; the layer has so many */
    const size_t *head;                 /* (count), ascending; of a DUPLICATE those that are alike */
    double loss, lr;                    /* at that step */
    double entropy, entropy_before;     /* mean over the heads, now and when it was largest lately (COLLAPSE) */
    double max_score, max_score_before; /* the largest of them, now and when it was smallest lately (COLLAPSE) */
    double turn;                        /* how far queries and keys have turned, median (UNIFORM) or largest (FROZEN) */
    double temperature;                 /* of UNIFORM: what scores are divided by beyond sqrt(head size) */
    double share;                       /* of DEAD: of what passes by, at most */
    double distance; /* of DUPLICATE: the part of a row's weight that lies elsewhere, at most, mean over rows */
};

/* "collapse", "uniform", "frozen", "dead", "duplicate". */
const char *head_finding_name(enum head_finding_kind k);

/* The kind of that name; HEAD_FINDING_KINDS when there is none. */
enum head_finding_kind head_finding_of(const char *name);

#define HEAD_FINDING_WORDS 512

/* Of n findings of one kind and step (one for each layer it is said of): where and what, with figures,
 *   "layer 0 heads 1, 3; layer 2 head 0: entropy fell from 0.97 to 0.08 while the largest score rose from 1.2 to 45".
 * Many places are cut short. */
void head_finding_say(char out[HEAD_FINDING_WORDS], const struct head_finding *f, size_t n);

/* What one might do about it: "lower --lr or lengthen --warmup (the rate is 0.09 now)". */
void head_finding_advise(char out[HEAD_FINDING_WORDS], const struct head_finding *f);

#endif
