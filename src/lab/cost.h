/* What attention costs as the text grows: time and memory of the textbook, which keeps a weight for every pair of
 * positions, and of the tiled one, forward and backward, while the length doubles; and one whole training step of a
 * small model at a length that the textbook could not hold. */
#ifndef LAB_COST_H
#define LAB_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/team.h"

#define COST_FIRST 256
#define COST_LENGTHS 16
#define COST_FIT 4 /* exponents are fitted over this many of the longest lengths */

enum cost_kind { COST_REFERENCE, COST_TILED, COST_KINDS };

struct cost_point {
    size_t T;
    double seconds;  /* forward and backward, median */
    size_t bytes;    /* what the call works on and in: q, k, v, y and gradients, what is kept, scratch */
    size_t resident; /* ... as the system saw it: growth of the process's peak; 0 where it does not say */
};

/* One training step: loss, gradient and update. */
struct cost_step {
    size_t T, n_layer, n_head, n_embd, parameters;
    double seconds;
    size_t bytes;    /* parameters, gradients, moments and activations */
    size_t resident; /* the process's peak meanwhile; 0 where the system does not say */
};

struct cost {
    size_t heads; /* as many as there are lanes, so that both use every one */
    size_t n[COST_KINDS];
    struct cost_point point[COST_KINDS][COST_LENGTHS];
    size_t refused_T, refused_bytes, available; /* what stopped the reference; refused_T 0: nothing did */
    double time_exponent[COST_KINDS], memory_exponent[COST_KINDS];
    struct cost_step step;
};

struct cost_options {
    size_t most;      /* the longest length, at least COST_FIRST */
    size_t head_size; /* > 0 */
    size_t step;      /* length of the training step; 0: none */
    struct team team;
    /* After each measurement, and at the beginning (done = 0). True stops with STATUS_INTERRUPTED. NULL: never asked.
     */
    bool (*progress)(void *context, const char *what, size_t T);
    void *context;
};

/* STATUS_INTERRUPTED, STATUS_MEMORY, STATUS_RANGE. The reference takes at most three quarters of the memory that is
 * available; where the system does not say how much that is, as far as it gets. */
enum status cost_run(struct cost *c, const struct cost_options *o, struct error *err);

/* The slope of log y over log x by least squares over the last COST_FIT of n points; NaN for fewer than two.
 *   x, y (n), above 0 */
double cost_exponent(const double *x, const double *y, size_t n);

#endif
