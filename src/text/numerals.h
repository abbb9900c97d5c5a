/* A text of bare ids: decimal numbers as the model counts its symbols, separated by white space. */
#ifndef TEXT_NUMERALS_H
#define TEXT_NUMERALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/utf8.h"

#define NUMERALS_DIGITS 10 /* of the longest id */

/* How a text of many pieces is cut: a number that begins this far before a piece's end is whole within it. */
#define NUMERALS_OVERLAP ((size_t)NUMERALS_DIGITS + 2)

/* Blank, tab, line feed, vertical tab, form feed, carriage return. */
bool numerals_is_space(uint8_t byte);

/* Offset of the first byte from `at` on that is no white space, or n. */
size_t numerals_skip(const uint8_t *bytes, size_t n, size_t at);

/* The number that begins at bytes[0]: its length, or 0 when what stands there, up to white space or the end of the n
 * bytes, is no id: other characters than digits, a leading zero, or more than NUMERALS_DIGITS digits. n > 0
 * (asserted). */
size_t numerals_read(uint64_t *number, const uint8_t *bytes, size_t n);

/* Fills err with STATUS_FORMAT for bytes[0], where no id below V begins (V 0: any that a vocabulary can have); the
 * other arguments as in utf8_fail. */
enum status numerals_fail(struct error *err, const char *name, const struct utf8_count *before, const uint8_t *bytes,
                          size_t n, size_t V);

#endif
