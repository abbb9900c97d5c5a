/* Attention over a few words with every number kept: the worked example of `nopeek explain`. The numbers come out of
 * the kernels that train: the products of gemm.h, attention.h forward and backward, and attention_ref.h, which keeps
 * the weights. One head of attention, without biases:
 *
 *   q = x W_Q    k = x W_K    v = x W_V    score_ij = q_i . k_j    weight_i = softmax(score_i / sqrt(d_k))
 *   y_i = sum_j weight_ij v_j
 *
 * Backward, of a loss L whose gradient dL/dy is 1 in every number of one word's result and 0 elsewhere. */
#ifndef LAB_WORKED_H
#define LAB_WORKED_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "kernels/attention_shape.h"

/* What is given. All row-major. */
struct worked_input {
    size_t T;            /* words */
    size_t C;            /* numbers that stand for a word */
    size_t d_k;          /* of a query and a key */
    size_t d_v;          /* of a value */
    size_t query;        /* the word that is looked at, 0 .. T-1 */
    const real *x;       /* (T,C) */
    const real *wq, *wk; /* (C,d_k) */
    const real *wv;      /* (C,d_v) */
};

/* What follows under one rule. */
struct worked_rule {
    size_t seen;           /* words that the query's row sees: the first so many */
    real *weights;         /* (T,T); exactly 0 where nothing is seen */
    real *undivided;       /* (T,T): the same without the division by sqrt(d_k) */
    real *y;               /* (T,d_v) */
    real *entropy;         /* (T): nats */
    real *dweights;        /* (T): dL/dweight of the query's row; 0 where nothing is seen */
    real *dscaled;         /* (T): dL/d(score / sqrt(d_k)) of that row */
    real *dq, *dk;         /* (T,d_k) */
    real *dv;              /* (T,d_v) */
    real *dwq, *dwk, *dwv; /* as the matrices */
};

struct worked {
    struct worked_input in;
    real scale;      /* 1 / sqrt(d_k) */
    real *q, *k, *v; /* (T,d_k), (T,d_k), (T,d_v) */
    real *scores;    /* (T,T): q_i . k_j, not divided */
    struct worked_rule full, causal;
    struct arena arena;
};

/* Computes all of it. The input's arrays are borrowed until worked_free. Sizes > 0, query < T (asserted). STATUS_RANGE,
 * STATUS_MEMORY; STATUS_NONFINITE when a number overflows on the way. On failure nothing is left allocated. */
enum status worked_make(struct worked *w, const struct worked_input *in, struct error *err);
void worked_free(struct worked *w);

#endif
