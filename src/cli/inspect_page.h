/* An inspection as pictures: SVG, and one HTML page that needs nothing else. */
#ifndef CLI_INSPECT_PAGE_H
#define CLI_INSPECT_PAGE_H

#include "cli/inspection.h"
#include "report/buffer.h"

/* More maps than this are not drawn; a page or picture says so. */
#define INSPECT_MOST_MAPS 64

/* The maps of the choice side by side, as a file of its own: with labels where there is one. Of a text that is longer
 * than HEAT_LARGEST positions those from `from` on, or the last when that is INSPECT_LAST (inspect_view.h); the picture
 * says which. */
void inspect_page_picture(struct buffer *b, const struct inspection *n, const struct inspection_choice *c, size_t from);

/* The text, the table of heads, and a map with labels for each head of the choice. */
void inspect_page(struct buffer *b, const struct inspection *n, const struct inspection_choice *c, size_t from);

#endif
