/* A heat map of characters, for a terminal: a cell is the darker, or in colour the brighter, the larger its weight. */
#ifndef REPORT_SHADES_H
#define REPORT_SHADES_H

#include <stdbool.h>
#include <stddef.h>

#include "report/buffer.h"

struct shades {
    const double *weights; /* (rows,cols) of 0 .. 1, row-major; what is not finite counts as 0 */
    size_t rows, cols;     /* > 0 */
    const size_t *past;    /* (rows): columns from this one on are the row's future */
    unsigned cell;         /* terminal columns of a cell: 1 or 2 */
    unsigned margin;       /* terminal columns of each row_label */
    /* Texts are printed as they are: made visible, and padded to their columns, by the caller. */
    const char *const *row_label; /* (rows) */
    const char *const *col_mark;  /* (cols): `cell` columns each */
    const char *const *row_note;  /* (rows): after the row; or NULL */
    bool colour;                  /* 256 colours; else shades */
};

/* A line of marks, then one a row. Exactly 0 is blank, and nothing else is. Scale: square roots. Weight on a row's
 * future is "!", in red where there is colour. */
void shades_print(struct buffer *b, const struct shades *s);

/* One line that explains the cells. */
void shades_legend(struct buffer *b, bool colour);

#endif
