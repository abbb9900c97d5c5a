/* What a check of a model comes to: one line per detector, and the findings. Filled by the detectors, whatever kind
 * of model they looked at; shown by cli. */
#ifndef DIAG_VERDICT_H
#define DIAG_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "diag/chart.h"

enum verdict_outcome {
    VERDICT_CLEAN,   /* looked, and found nothing */
    VERDICT_FOUND,   /* found something: it is among the findings */
    VERDICT_NOTED,   /* worth knowing, no fault */
    VERDICT_SKIPPED, /* could not look: the evidence says why */
};

struct verdict_line {
    const char *detector; /* one word, static */
    enum verdict_outcome outcome;
    double seconds;     /* what it cost */
    char evidence[240]; /* what was tried and seen: lower-case start, no full stop */
};

#define VERDICT_NOWHERE ((size_t)-1)

struct verdict_finding {
    const char *detector;
    size_t layer, head;       /* VERDICT_NOWHERE where it has none, or none is known */
    char operation[48];       /* "attention", "LayerNorm 1", "decode", ...; "" when unknown */
    bool backward;            /* the forward pass is right, the gradient is not */
    struct chart_shape shape; /* which later positions are seen; CHART_CAUSAL when it is not about positions */
    double nats;              /* what it is worth, nats per symbol; NaN when unknown */
    char what[240];           /* in words: lower-case start, no full stop */
};

#define VERDICT_LINES 32
#define VERDICT_FINDINGS 256

struct verdict {
    size_t lines, findings; /* findings past VERDICT_FINDINGS are counted, not kept */
    struct verdict_line line[VERDICT_LINES];
    struct verdict_finding finding[VERDICT_FINDINGS];
    double nats; /* what the future is worth to this model, nats per symbol: loss one symbol at a time, less the loss
                    of whole windows; NaN when not measured */
};

/* Adds a line (at most VERDICT_LINES, asserted). */
void verdict_say(struct verdict *v, const char *detector, enum verdict_outcome outcome, double seconds,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a finding, blank but for the detector and what it says, and returns it to be completed. */
struct verdict_finding *verdict_find(struct verdict *v, const char *detector, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
