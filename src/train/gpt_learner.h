/* A GPT that learns from a text: the learner that `nopeek train` trains. */
#ifndef TRAIN_GPT_LEARNER_H
#define TRAIN_GPT_LEARNER_H

#include <stddef.h>
#include <stdint.h>

#include "model/gpt.h"
#include "text/dataset.h"
#include "train/learner.h"

struct gpt_learner {
    struct gpt *model;
    struct work *work; /* for training; batch and context are its B and T */
    const struct dataset *data;
    size_t grad_accum;   /* micro-batches per step; the batch of a step is grad_accum * B windows */
    size_t eval_windows; /* windows in the sample that evaluate takes of a part */
    uint64_t seed;
    uint32_t *tokens, *targets;  /* (B,T) */
    double *entropy, *max_score; /* (L,H): of the last micro-batch; see attention_shape_summary */
};

/* Tokens, targets, entropy and max_score are allocated; the rest is the caller's and set before. STATUS_MEMORY. */
enum status gpt_learner_create(struct gpt_learner *l, struct error *err);
void gpt_learner_free(struct gpt_learner *l);

/* l as the trainer sees it. */
struct learner gpt_learner_interface(struct gpt_learner *l);

/* Fills entropy and max_score from the last pass. */
void gpt_learner_attention(struct gpt_learner *l);

#endif
