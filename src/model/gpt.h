/* The model: parameters, and the passes over whole windows. Decoding one symbol at a time is decode.h.
 *
 *     gpt_forward(g, w, tokens, B, T, &pass);        w->logits (B,T,V)
 *     gpt_loss(g, w, targets, B, T);                 w->loss (B,T); w->logits become probabilities
 *     gpt_loss_backward(g, w, targets, scale, B, T); w->logits become their own gradient
 *     gpt_backward(g, w, tokens, B, T, &pass, grads);
 *
 * The trunk (tokens to hidden state) and the head (hidden state to logits) are separate inside. */
#ifndef MODEL_GPT_H
#define MODEL_GPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "base/team.h"
#include "model/config.h"
#include "model/fault.h"
#include "model/params.h"
#include "model/work.h"

struct gpt {
    struct config config;
    struct params_table table;
    real *params;               /* (table.size) */
    enum attention_rule *rules; /* (L,H): what each head really does; config.trained everywhere */
    const struct fault *fault;  /* NULL; only diag/, lab/ and tests plant one */
    size_t attention_tile;      /* 0: as attention_tile.h says; lab/ and tests cross tiles in short texts */
    double attention_scale; /* 0: 1 / sqrt(head size), as every checkpoint has it; only lab/ and tests choose another */
};

/* Allocates a model with all parameters zero (params_init fills them). Checks the config first.
 * STATUS_RANGE, STATUS_MEMORY; on failure nothing is left allocated. */
enum status gpt_create(struct gpt *g, const struct config *c, struct error *err);
void gpt_free(struct gpt *g);

/* Training applies dropout, drawn from these counters; batch row b counts as row first_row + b of the step. */
struct gpt_pass {
    bool training;
    bool quiet;    /* attention logs neither entropy nor scores; the logits are the same bits */
    bool textbook; /* by the reference attention, which leaves its weights in w->block: after work_keep_weights */
    uint64_t seed;
    uint32_t step;
    uint32_t first_row;
};
extern const struct gpt_pass gpt_evaluating; /* no dropout */
extern const struct gpt_pass gpt_quiet;      /* ... and nothing logged */
extern const struct gpt_pass gpt_textbook;   /* no dropout, weights kept */

/* tokens (B,T), each < V; 0 < B <= w->B, 0 < T <= w->T (asserted). Leaves logits in w->logits (B,T,V), the hidden
 * state in w->lnf (B,T,C), and each layer's attention rows in w->block. */
void gpt_forward(const struct gpt *g, struct work *w, const uint32_t *tokens, size_t B, size_t T,
                 const struct gpt_pass *pass);

/* After gpt_forward: w->loss (B,T) in nats; w->logits become probabilities. targets (B,T), each < V. */
void gpt_loss(const struct gpt *g, struct work *w, const uint32_t *targets, size_t B, size_t T);

/* After gpt_loss: w->logits become the gradient of scale * sum(loss). */
void gpt_loss_backward(const struct gpt *g, struct work *w, const uint32_t *targets, real scale, size_t B, size_t T);

/* From the gradient of the logits in w->logits (any, not only the loss's) to all parameters, added to grads
 * (table.size) unless NULL. w->dres (B,T,C) is left with the gradient of the input embeddings. After a gpt_forward
 * with the same arguments, w made for training (asserted). */
void gpt_backward(const struct gpt *g, struct work *w, const uint32_t *tokens, size_t B, size_t T,
                  const struct gpt_pass *pass, real *grads);

/* Inside a team, for decode.c: T new tokens of each of B rows after caches->past others, to the logits (B,V) of what
 * follows the last of them, in w->logits. B or T is 1; w has room for B * T rows and T positions, the cache for
 * past + T (asserted). tokens (B,T); caches (L). With T = 1 each row gets the bits that it would get alone. */
struct block_cache;
void gpt_logits_cached(const struct lane *lane, const struct gpt *g, struct work *w, const uint32_t *tokens, size_t B,
                       size_t T, const struct block_cache *caches);

/* After gpt_forward, not quiet: what attention logged, per head (L,H), as attention_shape_summary gives it. w keeps all
 * layers (made for training, asserted). */
void gpt_attention_summary(double *entropy, double *max_score, const struct gpt *g, const struct work *w, size_t B,
                           size_t T);

/* Mean of w->loss over n targets, summed in double in order. */
double gpt_mean_loss(const struct work *w, size_t n);

#endif
