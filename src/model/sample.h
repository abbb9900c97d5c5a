/* Choosing the next symbol from logits.
 *
 *   w_i = exp((x_i - max x) / temperature)        in double
 *   top-k   keeps the k heaviest symbols
 *   top-p   of what is left, keeps the shortest run of heaviest symbols that holds a share of at least p
 *           (nucleus sampling, Holtzman et al. 2019, arXiv:1904.09751): the one that crosses p stays
 *   min-p   of what is left, keeps w_i >= min_p * the heaviest (Nguyen et al. 2024, arXiv:2407.01082)
 *
 * in that order, then draws in proportion to the weights left. Among equal weights the lower id comes first,
 * everywhere. The heaviest symbol always stays. A draw is a function of (seed, sample, position) alone. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/real.h"
#include "base/status.h"

struct sample_options {
    double temperature; /* >= 0, finite; below SAMPLE_COLDEST the largest logit wins */
    size_t top_k;       /* 0 is off; more than V is V */
    double top_p;       /* 0 .. 1; 1 is off, 0 keeps the heaviest symbol only */
    double min_p;       /* 0 .. 1; 0 is off */
    uint64_t seed;
    const bool *never; /* (V) ids that are not drawn, as if the model gave them no weight at all; NULL: none. At least
                          one id is left */
};

/* Colder than this, a draw could only toss a coin between logits that are equal to the last bit: it is taken
 * as 0, so that a tiny temperature and 0 give the same text. */
#define SAMPLE_COLDEST 1e-9

/* The plain model: temperature 1, nothing cut, seed 0. */
struct sample_options sample_defaults(void);

/* STATUS_RANGE, naming the option, what it is and what it may be; NaN and infinities are refused. */
enum status sample_check(const struct sample_options *o, struct error *err);

/* Work space of one chooser. */
struct sample_scratch {
    double *weight;  /* (V) */
    uint32_t *order; /* (V) */
};

/* Takes the work space from an arena (arena.h: measured, then placed). */
void sample_layout(struct sample_scratch *s, struct arena *a, size_t V);

/* Writes the chosen id to *id.
 *   logits   (V)  0 < V <= UINT32_MAX (asserted)
 *   o        must pass sample_check (asserted)
 *   sample   which text of several, position  which symbol of that text: the counters of the draw
 * STATUS_NONFINITE, with *id untouched, when a logit is NaN or infinite. */
enum status sample_choose(uint32_t *id, const real *logits, size_t V, const struct sample_options *o, uint32_t sample,
                          uint32_t position, struct sample_scratch *scratch, struct error *err);

#endif
