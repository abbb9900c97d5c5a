/* Change every token from t on: each answer before t must stay what it was. */
#ifndef DIAG_BLACKBOX_SUFFIX_H
#define DIAG_BLACKBOX_SUFFIX_H

#include "diag/blackbox_session.h"

struct blackbox_suffix {
    size_t tried, possible; /* places t in windows of the whole context */
    size_t shorter;         /* changes tried in shorter windows */
    size_t answers;         /* compared, one a row */
    double change;          /* nats: the largest change of an answer ... */
    size_t place, row;      /* ... with the t it was seen at, and whose answer it is */
};

/* Whole windows at as many t as the detector's time allows, and windows of 2, 3, 17 and 33 tokens at a few, or none of
 * those when answers are slow. What asking failed with. */
enum status blackbox_suffix(struct blackbox_suffix *f, struct session *s, struct error *err);

#endif
