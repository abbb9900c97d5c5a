/* One HTML file that needs nothing else: no network, no script, light or dark as the reader has it, legible on a
 * phone. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "report/buffer.h"

/* The beginning, down to the heading, and the end. Between them goes anything; these classes have a style:
 *   grid    children side by side, below each other where there is no room
 *   wide    scrolls sideways by itself
 *   good, bad, faint    text in those colours */
void page_begin(struct buffer *b, const char *title);
void page_end(struct buffer *b);

#endif
