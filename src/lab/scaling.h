/* Why scores are divided by sqrt(d_k) (Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1 and its footnote 4): if the
 * numbers of q and k are independent with mean 0 and variance 1, q . k is a sum of d_k products of variance 1, so its
 * variance is d_k. Undivided, scores grow with the width of a head, the softmax puts all its weight on one key, and
 * what it lets through to any other is next to nothing.
 *
 * Measured here on random numbers, both ways on the same draws, and then in two trainings of one model that differ in
 * nothing but the scale. */
#ifndef LAB_SCALING_H
#define LAB_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"

#define SCALING_WIDTHS 9 /* d_k = 2, 4, ..., 512 */
#define SCALING_KEYS 64  /* as many queries, each of which sees every key */

enum scaling_side { SCALING_PLAIN, SCALING_SCALED, SCALING_SIDES }; /* scale 1, and 1 / sqrt(d_k) */

/* What attention_ref.h makes of q, k ~ N(0,1). A trial is SCALING_KEYS queries and keys; `..._error` is the standard
 * error of a mean over trials.
 *
 * The gradient: for each query a direction u, uniform on the unit sphere, is taken for the gradient of the loss with
 * respect to its weights; what comes out of the softmax's backward pass is dS_j = p_j (u_j - sum_i p_i u_i), with
 * respect to the scores that went in. Its length is taken over all keys but the one with the largest weight, the other
 * paths: what they are told. The mean length is carried by the few rows in which two keys happen to be level; the
 * median says what reaches the others in a row like most. (The way on to q multiplies by the scale and by k, in plain
 * scores a factor sqrt(d_k) more than in scaled ones: `query` is the whole length of dq.) */
struct scaling_look {
    double variance, variance_error; /* of the scores, whose mean is known to be 0 */
    double largest, largest_error;   /* the largest weight of a row, mean */
    double entropy, entropy_error;   /* over ln(SCALING_KEYS), mean: 1 is uniform, 0 one-hot */
    double others_mean, others_median;
    double query_median;
};

struct scaling_point {
    size_t d_k;
    struct scaling_look look[SCALING_SIDES];
};

/* The two trainings. */
#define SCALING_LAYERS 2
#define SCALING_HEAD_SIZE 128 /* one head a layer */
#define SCALING_LOOKS 11      /* evaluations, evenly spread, before the first step and after the last included */

struct scaling_training {
    size_t looks;
    size_t step[SCALING_LOOKS];
    double val_loss[SCALING_LOOKS];                /* nats per symbol */
    double entropy[SCALING_LOOKS][SCALING_LAYERS]; /* normalised */
};

struct scaling {
    struct scaling_point point[SCALING_WIDTHS];
    size_t parameters;
    struct scaling_training training[SCALING_SIDES];
};

struct scaling_options {
    size_t trials;  /* at least 2 */
    uint32_t steps; /* of each training, at least SCALING_LOOKS - 1; 0: none */
    uint64_t seed;
    struct team team;
    /* Asked now and then: `what` is under way, so many of so many parts of it done. True stops with STATUS_INTERRUPTED.
     * NULL: never. */
    bool (*progress)(void *context, const char *what, size_t done, size_t total);
    void *context;
};

/* The same bits for the same options. STATUS_INTERRUPTED, STATUS_MEMORY, STATUS_NONFINITE. */
enum status scaling_run(struct scaling *r, const struct scaling_options *o, struct error *err);

#endif
