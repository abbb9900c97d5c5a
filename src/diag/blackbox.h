/* A model of which only its answers are seen: tokens in, logits out, in whatever language it was written. */
#ifndef DIAG_BLACKBOX_H
#define DIAG_BLACKBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct blackbox {
    /* Set by the owner. */
    size_t V, T; /* vocabulary, context: it answers questions of 1 .. T tokens */
    /* logits (n_rows,V) after tokens (n), at rows ascending and below n; (n,V) when rows is NULL. NaN and infinities
     * come as they are. */
    enum status (*ask)(void *self, double *logits, const uint32_t *tokens, size_t n, const size_t *rows, size_t n_rows,
                       struct error *err);
    void *self;

    bool one_length; /* answers to questions of different lengths are not to be compared: its dropout is on */

    /* Kept by blackbox_ask. */
    bool *barred;      /* (V): symbols that can never come, because their logit is -infinity in every row */
    uint32_t *allowed; /* the others, ascending; unknown before the first answer */
    size_t n_allowed;
    size_t questions;
    double largest; /* |logit|, of symbols that are not as good as barred */
    int bits;       /* that every logit so far could be written with: 8 (bfloat16), 11 (half precision), else 24 */
};

/* Takes what `ask` needs and memory for the rest. STATUS_MEMORY. */
enum status blackbox_open(struct blackbox *b, size_t V, size_t T, struct error *err);
void blackbox_close(struct blackbox *b);

/* Asks, and turns each row of logits into log-probabilities (a barred symbol keeps -infinity). What fails says which
 * question it was. STATUS_NONFINITE: a NaN, an infinity, or a -infinity that is not in every row of every answer - a
 * symbol may be barred, but always or never. */
enum status blackbox_ask(struct blackbox *b, double *logp, const uint32_t *tokens, size_t n, const size_t *rows,
                         size_t n_rows, struct error *err);

/* The unit of the last place, relative, of the format that the logits seem to come in: 2^-8, 2^-11 or 2^-24. */
double blackbox_epsilon(const struct blackbox *b);

#endif
