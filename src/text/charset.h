/* The set of code points that a text uses, found in one pass. */
#ifndef TEXT_CHARSET_H
#define TEXT_CHARSET_H

#include <stddef.h>
#include <stdint.h>

#include "text/utf8.h"

/* One bit per code point: 136 KB whatever the text's size. Begin with all zero. */
struct charset {
    uint64_t bits[UTF8_CODE_POINTS / 64];
};

/* Adds every character that begins in bytes[0 .. stop), stop <= n, and counts them into *symbols. Returns the
 * offset after the last one, at least `stop`; less than `stop` means that no valid character, or U+0000, begins
 * there. A text read in pieces passes stop = n - 3 for every piece but the last, so that no character is cut. */
size_t charset_scan(struct charset *set, size_t *symbols, const uint8_t *bytes, size_t n, size_t stop);

/* How many code points are in the set. */
size_t charset_size(const struct charset *set);

/* Writes them in ascending order; codes (charset_size). */
void charset_list(uint32_t *codes, const struct charset *set);

#endif
