/* Anyone's text inside HTML or SVG: it is shown, and nothing in it is ever markup. */
#ifndef REPORT_ESCAPE_H
#define REPORT_ESCAPE_H

#include <stddef.h>

#include "report/buffer.h"

/* Appends n bytes as character data or as an attribute's value in either kind of quotes. The five characters of markup
 * become entities. Line feeds and tabs stay; other control characters, and those that are invisible or turn the
 * direction of writing, are shown by their code point ("[U+2028]"), and a byte that is no UTF-8 as "[0xFF]". */
void escape_text(struct buffer *b, const char *text, size_t n);

#endif
