/* One attention problem: inputs in a chosen memory layout, room for every result, and the oracle, plain loops in
 * double over the formulas of kernels/attention_shape.h. Made for any implementation of that header. */
#ifndef SUPPORT_ATTENTION_CASE_H
#define SUPPORT_ATTENTION_CASE_H

#include <stdbool.h>

#include "kernels/attention.h"
#include "support/oracle.h"

enum attention_layout {
    ATTENTION_DENSE,  /* q, k, v, y each without gaps */
    ATTENTION_PACKED, /* q, k and v of a position side by side, as one product writes them; T_q = T_k */
    ATTENTION_CACHE,  /* k and v in a cache with room for more positions, q and y with gaps between rows */
};

struct attention_case {
    struct pool pool;
    struct attention_shape shape;
    enum attention_rule rules[8];
    enum attention_layout layout;
    struct dropout drop;
    /* inputs */
    real *q, *k, *v, *dy;
    /* results, NaN before */
    real *y, *weights, *dq, *dk, *dv;
    struct attention_rows rows;
    struct attention_kept kept;       /* of the tiled one */
    size_t q_block, k_block, y_block; /* reals from the start of q, k or v, y to the end of their memory */
};

struct attention_sizes {
    size_t B, H, H_kv, hs, T_q, T_k;
};

/* Random inputs. Rules alternate over the heads: causal, full, causal, ... `scores` sets how large scores get: their
 * deviation for normal inputs, or with `exact` their rough maximum, inputs being small integers so that every score
 * is a number without rounding. p is the rate of dropout. */
void attention_case_init(struct attention_case *c, const struct attention_sizes *sizes, enum attention_layout layout,
                         double scores, bool exact, double p);

/* New results, NaN throughout, the inputs as they are: for a second run. */
void attention_case_clear(struct attention_case *c);

void attention_case_free(struct attention_case *c);

/* Deliberate mistakes of the oracle, each of which a comparison must notice. */
enum attention_case_fault {
    ATTENTION_CASE_RIGHT,
    ATTENTION_SEES_ONE_AHEAD,         /* the mask one key too wide */
    ATTENTION_MISSES_ITSELF,          /* the diagonal masked too, where there is another key */
    ATTENTION_ALIGNED_TO_THE_START,   /* query i at position i even when T_q < T_k */
    ATTENTION_SCALE_MISSING,          /* scores not scaled */
    ATTENTION_HEADS_INTERLEAVED,      /* head h reads key head h mod H_kv */
    ATTENTION_ENTROPY_SIGN,           /* ln l + sum p (s - m) */
    ATTENTION_ENTROPY_AFTER_DROPOUT,  /* from the kept weights */
    ATTENTION_MASK_ELSEWHERE,         /* dropout of another batch row */
    ATTENTION_MEAN_SIGN,              /* dS = P (dP + mean) */
    ATTENTION_GRADIENT_KEEPS_DROPPED, /* backward without the dropout mask */
    ATTENTION_CASE_FAULTS
};

/* The largest error of each result, see oracle_error. Gradients are judged by the size of what they sum. */
struct attention_errors {
    double y, weights, lse, entropy, max_score, dq, dk, dv;
    double row_sum;       /* |sum of a row's weights - 1| */
    bool hidden_are_zero; /* every weight beyond the rule is exactly 0 */
    bool gaps_untouched;  /* what lies between the rows of results is as it was */
};

/* Compares the results that a case holds. A case without weights (NULL) is judged by the rest. */
struct attention_errors attention_case_errors(struct attention_case *c, enum attention_case_fault fault);

/* The largest difference between the oracle's gradients and finite differences of its own value: the oracle
 * itself must be right. */
double attention_oracle_slope_error(struct attention_case *c, enum attention_case_fault fault);

#endif
