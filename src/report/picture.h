/* What all SVG pictures share: colours, the frame, a title that a screen reader reads. Colours are variables, so that
 * one picture suits light and dark; the eight of series are those of Okabe and Ito (2008), told apart by readers who
 * see no red or no green. */
#ifndef REPORT_PICTURE_H
#define REPORT_PICTURE_H

#include <stdbool.h>

#include "report/buffer.h"

#define PICTURE_COLOURS 8

/* The values of those variables, light and dark, as CSS: for a page on which a person chooses. */
extern const char picture_light[], picture_dark[];

/* CSS: the variables --paper --tint --ink --faint --grid --good --bad --s0 .. --s7, light and dark, and the classes of
 * pictures. A page has it once; a picture that stands alone carries its own. */
extern const char picture_style[];

/* Opens an <svg> of this many units; `alone`: a file of its own. title and description are any text. */
void picture_begin(struct buffer *b, double width, double height, bool alone, const char *title,
                   const char *description);
void picture_end(struct buffer *b);

/* A <text> at (x,y), of these classes ("end", "mid", "faint", "b"; "" for none). */
void picture_text(struct buffer *b, double x, double y, const char *classes, const char *text);

#endif
