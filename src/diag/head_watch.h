/* Watches the attention heads of a training run, update by update, and finds each of these once, at the step where it
 * becomes clear (Zhai et al. 2023, arXiv:2303.06296, for the first; figures measured on good and on spoiled runs of 1
 * to 6 layers stand beside them, as "good" and "spoiled"):
 *
 *   collapse    within HEAD_WATCH_STEPS steps a head's entropy halves, to below HEAD_WATCH_SHARP, while its largest
 *               score grows fourfold, to above HEAD_WATCH_SCORE. Said once a layer, of all heads that fall just then.
 *   uniform     nine heads of ten have an entropy of HEAD_WATCH_UNIFORM or more, and it can be told why: queries and
 *               keys stay where they were (see frozen); or the softmax divides scores by more than HEAD_WATCH_HOT
 *               times sqrt(head size); or neither, and their weights have turned by HEAD_WATCH_TURN while the loss
 *               fell by a tenth. Every head is uniform at first, so how far the weights have turned is the clock, not
 *               the steps. Said once of the whole model; of single heads it is not: good models keep some.
 *   frozen      queries and keys of a head have turned by less than HEAD_WATCH_STILL of what the steps taken could do
 *   dead        what a head adds is below HEAD_WATCH_DEAD of what passes by, and a hundredth of the mean of its layer
 *   duplicate   heads of a layer have nearly the same map: the distance between them is at most HEAD_WATCH_SAME, and a
 *               tenth of that of either from a uniform one, which itself is no small number
 *
 * In a layer that has collapsed nothing is called dead or duplicate: it would be no more than what follows from it.
 * What was found before training was resumed is not found again (head_watch_said). Pure: nothing here touches a model.
 * The history is HEAD_WATCH_STEPS steps long, whatever the length of the run. */
#ifndef DIAG_HEAD_WATCH_H
#define DIAG_HEAD_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "diag/head_finding.h"

#define HEAD_WATCH_STEPS 50
#define HEAD_WATCH_SHARP 0.30
#define HEAD_WATCH_SCORE 60
#define HEAD_WATCH_UNIFORM 0.98
#define HEAD_WATCH_HOT 4
#define HEAD_WATCH_TURN 0.35
#define HEAD_WATCH_STILL 1e-3 /* of the turn that was due */
#define HEAD_WATCH_DEAD 1e-3
#define HEAD_WATCH_SAME 0.02
#define HEAD_WATCH_APART 0.1 /* from uniform, for a map to be anything in particular */
#define HEAD_WATCH_LEAST 50  /* steps before what was there from the start is called frozen or dead, 30 before hot */

/* What head_probe.h measures, each (L,H). NaN: not known. */
struct head_watch_probe {
    const double *turn;        /* sine of the angle between W_Q and W_K as they were at first and as they are now */
    const double *due;         /* the turn that the steps taken so far could make, all of them in one direction */
    const double *share;       /* what the head adds, as a share of what passes by */
    const double *temperature; /* q.k / sqrt(head size) over the score */
};

/* After an update. entropy and max_score (L,H), as attention_shape_summary gives them. */
struct head_watch_look {
    size_t step;
    double loss, lr;
    const double *entropy, *max_score;
    const struct head_watch_probe *probe; /* NULL where nothing was measured */
};

#define HEAD_WATCH_BLOCKS 10 /* of history, each of a tenth of HEAD_WATCH_STEPS */

struct head_watch {
    struct head_finding *finding; /* (found): of the last call */
    size_t found;

    size_t L, H;
    double first_loss;                 /* NaN before the first look */
    size_t looks;                      /* since watching began, or went on */
    size_t block[HEAD_WATCH_BLOCKS];   /* which block of steps is in each place, 1 + step / length; 0: none */
    double *peak[HEAD_WATCH_BLOCKS];   /* (L,H) each: the largest entropy of the block */
    double *lowest[HEAD_WATCH_BLOCKS]; /* (L,H): the smallest largest score */
    size_t *dead_since;                /* (L,H): step, + 1; 0: not dead */
    bool *said[HEAD_FINDING_KINDS];    /* (L,H) */
    size_t *heads, heads_used;         /* of the findings */
    double *sorted;                    /* (L,H): room */
    struct arena arena;
};

/* L, H > 0 (asserted). STATUS_RANGE, STATUS_MEMORY; on failure nothing is left allocated. */
enum status head_watch_create(struct head_watch *w, size_t L, size_t H, struct error *err);
void head_watch_free(struct head_watch *w);

/* Before a resumed run goes on, in order: a look from before (its probe is not read), of which nothing is found; and
 * what was found before. Layers and heads that there are not are passed over. */
void head_watch_recall(struct head_watch *w, const struct head_watch_look *look);
void head_watch_said(struct head_watch *w, enum head_finding_kind kind, size_t layer, size_t head);

/* Looks, and leaves what is found in w->finding: of one kind all layers together, in order. Steps rise. */
void head_watch_step(struct head_watch *w, const struct head_watch_look *look);

/* Before head_watch_step: does head i = layer H + head do all of a collapse but for the size of its score? Good heads
 * do, when they form; how far their scores stay below HEAD_WATCH_SCORE is the margin. */
bool head_watch_narrows(const struct head_watch *w, const struct head_watch_look *look, size_t i);

/* The same, of what two heads have in common on a text. distance (L,H,H): mean over rows of the total variation
 * distance between their weights; from_uniform (L,H): likewise, from equal weights. */
void head_watch_maps(struct head_watch *w, size_t step, const double *distance, const double *from_uniform);

#endif
