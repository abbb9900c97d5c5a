/* Is the backward pass the derivative of the forward pass? Every parameter tensor, and each of the views W_Q, W_K,
 * W_V (b_Q, b_K, b_V) of every layer, is held against differences of the loss.
 *
 *   error = max |g - d| / max(max |g|, 1e-3 * the model's largest |g|)
 *
 * with g the gradient that the learner computes and d the derivative measured: central differences with steps
 * h, h/2, h/4, ... extrapolated to h = 0 (Richardson 1911), the extrapolation that changes least, rounding included,
 * being taken, as Ridders (1982) does. The steps adapt to each parameter, so that sharp and flat places are both
 * measured well.
 *
 * In double a right backward pass stays below 1e-6 with room to spare. In float the loss itself carries only seven
 * digits, so the same check finds gross faults only (a sign, a term, a factor): its tolerance there is 5e-2. */
#ifndef DIAG_GRADCHECK_H
#define DIAG_GRADCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "model/gpt.h"
#include "model/params.h"
#include "model/work.h"

#ifdef NOPEEK_DOUBLE
#define GRADCHECK_TOLERANCE 1e-6
#else
#define GRADCHECK_TOLERANCE 5e-2
#endif

/* What is checked: a loss as a function of the parameters, and the gradient that is claimed for it. Both must give
 * the same numbers each time they are called with the same parameters. */
struct gradcheck_learner {
    void *context;
    double (*loss)(void *context);
    double (*loss_and_gradient)(void *context, real *grads); /* grads (table.size) are assigned */
};

/* A tensor, or a view of one. */
struct gradcheck_result {
    char name[PARAMS_NAME_SIZE + 8]; /* the tensor's, for a view with ":W_Q" and the like behind it */
    size_t tensor;                   /* index into the table */
    bool view;
    double error;              /* infinity when a gradient or a difference is not finite */
    size_t worst;              /* where: index into the tensor's numbers */
    double gradient, measured; /* what stands there */
    size_t checked;            /* how many of its numbers were measured */
};

struct gradcheck {
    struct gradcheck_result *result; /* (count): in the table's order, the views right after their tensor */
    size_t count;
    double loss;
    double largest; /* |g| */
};

/* Measures at the present parameters.
 *   params  (table.size), what the learner's functions read; moved one number at a time, and back to the same bits
 *   most    numbers to measure of each tensor or view, spread over it by seed; 0 measures all
 * STATUS_NONFINITE when the loss is not finite to begin with, STATUS_MEMORY. Free with gradcheck_free. */
enum status gradcheck_run(struct gradcheck *c, real *params, const struct params_table *table,
                          const struct gradcheck_learner *learner, size_t most, uint64_t seed, struct error *err);
void gradcheck_free(struct gradcheck *c);

/* The result with the largest error. There is always one. */
const struct gradcheck_result *gradcheck_worst(const struct gradcheck *c);

/* gpt.h's model on a fixed step: the mean loss over `micro` batches, one after another, their gradients added up. */
struct gradcheck_step {
    const struct gpt *model;
    struct work *work;                /* made for training, with room for B and T */
    const uint32_t *tokens, *targets; /* (micro * B, T) */
    size_t micro, B, T;
    struct gpt_pass pass; /* dropout's counters; first_row is that of the first batch */
};
struct gradcheck_learner gradcheck_of_step(struct gradcheck_step *step);

#endif
