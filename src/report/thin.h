/* Long series thinned to what a screen can show, without losing a spike: of each bin of neighbouring points the least
 * and the greatest are kept, where they were. Points come one at a time and memory does not grow: when there are too
 * many bins, neighbours become one, so that the extremes of the whole are the extremes of what is kept. */
#ifndef REPORT_THIN_H
#define REPORT_THIN_H

#include <stdbool.h>
#include <stddef.h>

/* One bin of one series. No finite point: both are NaN. */
struct thin_pair {
    double low, high;       /* values */
    double low_at, high_at; /* where: the x of each */
};

struct thin {
    size_t series, most;    /* series side by side; bins at most, even, > 0 */
    size_t bins;            /* so far */
    size_t width;           /* points that a whole bin holds: 1 until bins had to be joined */
    size_t last;            /* points in the last bin */
    double *first, *end;    /* (most): x of each bin's first and last point */
    struct thin_pair *pair; /* (most, series) */
};

/* False when memory is refused; then t is empty. */
bool thin_make(struct thin *t, size_t series, size_t most);
void thin_free(struct thin *t);

/* A point of every series at x, above all x before; y (series), not finite where a series has none. */
void thin_add(struct thin *t, double x, const double *y);

/* The bin's points of one series in their order, at most two: writes them and says how many. A series of which a bin
 * has no finite point has one there all the same, NaN at the bin's beginning, as a gap is to be seen. */
size_t thin_points(double x[2], double y[2], const struct thin *t, size_t bin, size_t series);

#endif
