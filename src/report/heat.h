/* Attention maps as SVG: who looks at whom. Rows are queries, columns keys; what lies right of the diagonal is the
 * future, and has a colour of its own. */
#ifndef REPORT_HEAT_H
#define REPORT_HEAT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/buffer.h"

/* More positions than this are not drawn; the picture then says how many there are. */
#define HEAT_LARGEST 96

struct heat {
    const char *title, *description;
    const double *weights;     /* (T,T) of 0 .. 1, row-major; what is not finite is drawn as nothing */
    size_t T;                  /* > 0 */
    const char *const *labels; /* (T): what stands at each position, made visible; NULL: no labels */
    double size;               /* of the map, in units, without title and labels */
    bool alone;
};

/* The darker a cell the larger its weight, on a scale of square roots in sixteen steps. */
void heat_svg(struct buffer *b, const struct heat *h);

#endif
