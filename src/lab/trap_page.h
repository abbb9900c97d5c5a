/* The trap as one HTML page, and its main figure as a picture. */
#ifndef LAB_TRAP_PAGE_H
#define LAB_TRAP_PAGE_H

#include "lab/trap.h"
#include "report/buffer.h"

/* After trap_run. Curves, the gap, heads over time, attention maps, samples, verdicts, and the command that makes it
 * again, which is `command`. */
void trap_page(struct buffer *b, const struct trap *t, const char *command);

/* The losses of both twins as an SVG file. */
void trap_figure(struct buffer *b, const struct trap *t);

#endif
