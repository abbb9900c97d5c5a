/* Times of one thing, measured again and again, and what they say when the machine is shared: the median. */
#ifndef BASE_TIMINGS_H
#define BASE_TIMINGS_H

#include <stddef.h>

#include "base/status.h"

struct timings {
    double *seconds; /* (room) */
    size_t count, room;
};

/* room > 0 (asserted). STATUS_MEMORY. Free with timings_free, in any case. */
enum status timings_create(struct timings *t, size_t room, struct error *err);
void timings_free(struct timings *t);

/* Takes one more; count < room (asserted). */
void timings_add(struct timings *t, double seconds);

/* The value below which a share q (0 .. 1) of the times lies, linear between two of them; 0.5 is the median. NaN
 * without times. Sorts them. */
double timings_quantile(struct timings *t, double q);

#endif
