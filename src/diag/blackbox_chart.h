/* Which later positions does each position see? One token is changed at a time, and every answer that moves is a cell
 * of the chart. How far it moves is compared with what a change as far back does. */
#ifndef DIAG_BLACKBOX_CHART_H
#define DIAG_BLACKBOX_CHART_H

#include "diag/blackbox_session.h"

struct blackbox_chart {
    struct chart_shape shape;
    size_t chained; /* not 0: the shape is +1 in each layer, which reaches this far through several of them */
    bool backwards; /* later positions are seen, and no earlier ones */
    size_t n;       /* positions of the window */
    size_t questions;
    size_t cells;    /* pairs of a position and a later one that were tried ... */
    size_t seen;     /* ... and those in which the later one is seen */
    double largest;  /* nats: the largest change of an answer by a later token */
    double strength; /* the middle one of the ratios: what the token k later does over what the token k before does,
                        where the later one is seen; NaN when too few could be compared */
};

/* Until the detector's time is up. STATUS_MEMORY, or what asking failed with. */
enum status blackbox_chart(struct blackbox_chart *out, struct session *s, struct error *err);

#endif
