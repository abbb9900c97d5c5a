/* The table of attention heads: entropy per head and layer, and in words what is worth noticing. */
#ifndef CLI_HEADS_H
#define CLI_HEADS_H

#include <stddef.h>
#include <stdio.h>

/* What attention_shape_summary says of each head, (L,H). */
struct heads {
    size_t L, H;
    const double *entropy;   /* normalised, NaN where a head never sees two keys */
    const double *max_score; /* largest score */
};

/* One line a layer, then one a verdict that applies ("sharp: layer 1 head 3 (...)"); nothing but the table when all
 * heads are ordinary. `before` is the table at the last look, or NULL. */
void heads_print(FILE *out, const struct heads *now, const struct heads *before);

#endif
