/* Does a model of which only the answers are seen look at its own future? The detectors, in the order they run:
 *
 *   lengths     questions of 1, 2, T-1 and T tokens are answered at all
 *   repeat      one question several times: how far apart the answers are is the noise that all others allow for
 *   order       A, other questions, A again: an answer may depend on its own question only
 *   suffix      change every token from t on: each answer before t must stay what it was
 *   chart       change one token at a time: which positions see it, how far away, and how strongly
 *   rows        an answer of some rows only is the one that the full answer has there
 *   generation  the loss with the future in the window, and with none: what the future is worth, in nats per symbol
 *   uniform     on uniformly random tokens no causal model's expected loss is below ln V
 *   repeat      the first question once more
 *
 * Questions of one length are compared exactly but for the noise; a difference below BLACKBOX_WORTHLESS is reported as
 * numerical dependence and is no leak. Questions of different lengths may be rounded otherwise in every layer, so the
 * detectors that compare those (rows, generation) allow for the precision that the logits show. */
#ifndef DIAG_BLACKBOX_CHECK_H
#define DIAG_BLACKBOX_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diag/blackbox.h"
#include "diag/verdict.h"

struct blackbox_options {
    double seconds; /* for all questions; each detector asks a few in any case, fewer and of fewer rows when the first
                       answers were slow, and says how many */
    bool quick;     /* fewer questions, whatever the time */
    uint64_t seed;
    void (*progress)(void *context, const char *detector, size_t done, size_t of); /* NULL: none */
    void *context;
};

/* *v is filled from scratch. A leak is a finding, no error. What `ask` failed with; STATUS_NONFINITE; STATUS_FORMAT
 * when identical questions get different answers, so that nothing can be told; STATUS_MEMORY. After an error *v holds
 * the lines so far. */
enum status blackbox_check(struct verdict *v, struct blackbox *b, const struct blackbox_options *o, struct error *err);

#endif
