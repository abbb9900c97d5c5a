/* The one table of parameters. Name, shape and role of every tensor stand here and nowhere else;
 * allocation, initialisation, optimizer groups, checkpoints and the gradient check all walk it. */
#ifndef MODEL_PARAMS_H
#define MODEL_PARAMS_H

#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "model/config.h"

enum params_role {
    PARAMS_ROLE_EMBEDDING, /* looked up, not multiplied (the tied one is both): no weight decay */
    PARAMS_ROLE_MATRIX,    /* [in,out]: weight decay */
    PARAMS_ROLE_GAIN,
    PARAMS_ROLE_BIAS,
    PARAMS_ROLE_HEAD, /* untied output matrix [V,C]: weight decay */
};

/* Which tensor of the model: those from PARAMS_LN1_GAIN to PARAMS_FC_OUT_BIAS exist once a layer. */
enum params_kind {
    PARAMS_TOKEN_EMBEDDING,    /* (V,C) */
    PARAMS_POSITION_EMBEDDING, /* (block_size,C) */
    PARAMS_LN1_GAIN,           /* (C) */
    PARAMS_LN1_BIAS,
    PARAMS_QKV,      /* (C,3C): W_Q, W_K, W_V side by side */
    PARAMS_QKV_BIAS, /* (3C) */
    PARAMS_PROJ,     /* (C,C): W_O */
    PARAMS_PROJ_BIAS,
    PARAMS_LN2_GAIN,
    PARAMS_LN2_BIAS,
    PARAMS_FC,      /* (C,4C) */
    PARAMS_FC_BIAS, /* (4C) */
    PARAMS_FC_OUT,  /* (4C,C) */
    PARAMS_FC_OUT_BIAS,
    PARAMS_LNF_GAIN,
    PARAMS_LNF_BIAS,
    PARAMS_HEAD, /* (V,C), untied only */
    PARAMS_KINDS
};

#define PARAMS_NAME_SIZE 64

struct params_tensor {
    char name[PARAMS_NAME_SIZE]; /* GPT-2's name in Hugging Face's files, "transformer.h.0.attn.c_attn.weight" */
    enum params_kind kind;
    enum params_role role;
    size_t layer;  /* 0 for those outside the blocks */
    size_t rows;   /* 1 for a vector */
    size_t cols;   /* fastest axis */
    bool vector;   /* its shape is (cols), not (rows,cols) */
    size_t offset; /* of its first number in the block of all parameters */
    bool present;  /* false: a bias of a model without biases; not stored, written to files as zeros */
};

/* A named part of a tensor: columns [begin, begin + cols). W_Q, W_K, W_V, and their biases. */
struct params_view {
    const char *name;
    size_t tensor; /* index into the table */
    size_t begin, cols;
};

struct params_table {
    struct params_tensor *tensor; /* (count), in the order of GPT-2's files, absent biases included */
    size_t count;
    size_t size; /* numbers in all present tensors: the length of the block */
};

/* Builds the table of a checked config. STATUS_MEMORY. Free with params_table_free. */
enum status params_table_make(struct params_table *t, const struct config *c, struct error *err);
void params_table_free(struct params_table *t);

/* The tensor of this kind and layer (layer is ignored outside the blocks). NULL for PARAMS_HEAD of a
 * tied model. */
const struct params_tensor *params_find(const struct params_table *t, enum params_kind kind, size_t layer);

/* Writes the views W_Q, W_K, W_V (and b_Q, b_K, b_V when present) of one layer; returns how many, at
 * most 6. */
size_t params_views(struct params_view out[6], const struct params_table *t, size_t layer);

/* Decay applies to matrices and the untied head only. */
bool params_decays(const struct params_tensor *p);

/* How training starts. Token embeddings and an untied output are N(0, 0.02) as in GPT-2, so that the first loss is ln
 * V. Matrices are N(0, 0.5 / sqrt(inputs)), those into the residual stream divided by sqrt(2 L) (GPT-2's 0.02 is made
 * for 768 channels; at 128 attention stays uniform for hundreds of steps). Positions start as sinusoids (Vaswani et al.
 * 2017, arXiv:1706.03762, 3.5), times 0.08, and are learned from there: neighbours are alike from the first step, and
 * heads find the previous character several times sooner. Gains are 1, biases 0. A draw depends on (seed, tensor,
 * position) alone. values (size). */
void params_init(real *values, const struct params_table *t, const struct config *c, uint64_t seed);

#endif
