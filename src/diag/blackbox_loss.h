/* Detectors that read the loss of a model of which only answers are seen, or compare answers to questions of different
 * lengths. Those may be rounded otherwise in every layer: how much is allowed follows from the precision that the
 * logits show. Each adds its line, and its finding, to the verdict. */
#ifndef DIAG_BLACKBOX_LOSS_H
#define DIAG_BLACKBOX_LOSS_H

#include "diag/blackbox_session.h"

/* An answer of some rows is the full answer's. STATUS_FORMAT when it is not: the program takes its rows wrongly. */
enum status blackbox_rows(struct session *s, struct error *err);

/* The loss at t in a full window against the loss at t with nothing after it, on random tokens; sets v->nats.
 * shape: what the chart has shown. T >= 2 (asserted). */
enum status blackbox_generation(struct session *s, const struct chart_shape *shape, struct error *err);

/* The loss on uniformly random tokens against ln V; skipped when answers are too slow for enough of them. */
enum status blackbox_uniform(struct session *s, struct error *err);

#endif
