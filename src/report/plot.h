/* Line charts as SVG: several series over one axis, told apart by colour and by dashes. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/buffer.h"

struct plot_series {
    const char *label; /* in the legend; NULL: not there */
    const double *y;   /* (n): NaN and infinities are gaps, and so is what a log axis cannot show */
    size_t stride;     /* from one y to the next, in doubles; 0 is 1 */
    unsigned look;     /* colour: mod 8 */
    unsigned dashes;   /* 0: solid; 1 .. 3: ever shorter */
    bool thin;
};

/* A horizontal line with its name, such as ln V. */
struct plot_level {
    const char *label;
    double y;
};

struct plot {
    const char *title, *description; /* the title stands above the picture too */
    const char *x_label, *y_label;   /* with units */
    const double *x;                 /* (n), ascending, finite; n > 0 */
    size_t n;
    const struct plot_series *series;
    size_t n_series;
    const struct plot_level *levels;
    size_t n_levels;
    bool log_x; /* with a tick at each x, all above 0 */
    bool log_y;
    double y_min, y_max; /* the axis shows at least this range, when y_min < y_max; on a log axis both are above 0 */
    double width, height;
    bool alone; /* a file of its own, not a part of a page */
};

void plot_svg(struct buffer *b, const struct plot *p);

#endif
