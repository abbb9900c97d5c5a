/* Where a pass keeps what it computes: activations, and gradients on the way back. One arena, measured then
 * placed; nothing is allocated during a pass. */
#ifndef MODEL_WORK_H
#define MODEL_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/real.h"
#include "base/status.h"
#include "base/team.h"
#include "kernels/attention.h"
#include "kernels/linear.h"
#include "model/config.h"
#include "model/laps.h"

/* What one block computes, in order. N = B * T rows. */
struct block_acts {
    real *ln1, *ln1_mean, *ln1_rstd; /* (N,C), (N), (N) */
    real *qkv;                       /* (N,3C) */
    real *weights;                   /* (B,H,T,T_k): attention weights; NULL without work_keep_weights */
    struct attention_rows rows;      /* each (B,H,T) */
    struct attention_kept kept;      /* each (B,H,T); NULL unless training */
    real *att;                       /* (N,C): heads side by side */
    real *mid;                       /* (N,C): residual stream after attention */
    real *ln2, *ln2_mean, *ln2_rstd;
    real *fc, *gelu; /* (N,4C) */
    real *out;       /* (N,C): residual stream after the MLP */
};

/* One block's weights as products in bf16 take them, of the pass that is under way. */
struct block_packed {
    uint32_t *qkv, *proj, *fc, *fc_out;
};

struct work {
    size_t B, T; /* the largest batch and length there is room for */
    struct team team;
    struct laps *laps;               /* NULL: no times are taken */
    bool training;                   /* keeps every layer, and has room for a backward pass */
    real *embedded;                  /* (N,C) */
    struct block_acts *block;        /* (L): distinct in training, otherwise one layer's, shared */
    real *branch;                    /* (N,C): output of a projection before it joins the residual stream */
    real *lnf, *lnf_mean, *lnf_rstd; /* lnf (N,C) is the hidden state that the head reads */
    real *logits;                    /* (N,V): logits, then probabilities, then their gradient */
    real *loss;                      /* (N) */
    real *scratch;                   /* attention's, for every lane */
    struct linear_room room;         /* of products in bf16; NULL pointers in fp32, as in the next two */
    struct block_packed packed[2]; /* even and odd layers: the next is filled while some lanes are still in the last */
    uint32_t *packed_head;
    /* backward; NULL unless training */
    real *dres;    /* (N,C): gradient of the residual stream; at the end, of the embeddings */
    real *dbranch; /* (N,C) */
    real *dln;     /* (N,C) */
    real *dqkv;    /* (N,3C) */
    real *dfc;     /* (N,4C) */
    struct arena arena;
    real *ref_scratch; /* the reference attention's, for every lane; NULL without work_keep_weights */
    struct arena weights;
};

/* Bytes that work_create will take. STATUS_RANGE when they overflow. */
enum status work_measure(size_t *bytes, const struct config *c, size_t B, size_t T, bool training, struct team team,
                         struct error *err);

/* Room for passes of up to B rows of T symbols. B, T > 0, T <= block_size (asserted). STATUS_RANGE,
 * STATUS_MEMORY; on failure nothing is left allocated. */
enum status work_create(struct work *w, const struct config *c, size_t B, size_t T, bool training, struct team team,
                        struct error *err);
void work_free(struct work *w);

/* The room for products of a precision: NULL for fp32. w was made for that precision (asserted) or, for fp32, for any.
 */
const struct linear_room *work_room(const struct work *w, enum precision precision);

/* Takes room for the reference attention too, whose memory grows with T^2: passes with `textbook`, and models in which
 * a fault of it is planted. w as work_create with the same c left it. Done twice, it is done once. STATUS_RANGE,
 * STATUS_MEMORY; on failure w is as before. */
enum status work_keep_weights(struct work *w, const struct config *c, struct error *err);

#endif
