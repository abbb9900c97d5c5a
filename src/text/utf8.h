/* UTF-8 one code point at a time, and the words for telling a person what is wrong with it. */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define UTF8_CODE_POINTS 0x110000u /* one more than the highest code point */

/* Reads the code point that begins at bytes[0] and returns its length, 1 .. 4 bytes; 0 when bytes do not begin
 * with valid UTF-8 (overlong forms, surrogates and values above U+10FFFF are invalid). n > 0 (asserted). */
size_t utf8_decode(uint32_t *code, const uint8_t *bytes, size_t n);

/* Writes a code point and returns its length. It is no surrogate and below UTF8_CODE_POINTS (asserted). */
size_t utf8_encode(uint32_t code, uint8_t out[4]);

/* What a stretch of text holds; also says where its end is. Begin with all zero. */
struct utf8_count {
    size_t bytes;
    size_t characters;   /* bytes that are no continuation: exact for valid UTF-8 */
    size_t lf, cr, crlf; /* every LF, every CR, and the pairs among them */
    bool after_cr;       /* the last byte was CR */
};

/* Adds n bytes that follow on what was counted before. */
void utf8_count(struct utf8_count *c, const uint8_t *bytes, size_t n);

/* The line, from 1, that the end of what was counted stands on. LF, CR and CRLF each end a line. */
size_t utf8_line(const struct utf8_count *c);

/* Fills err with STATUS_FORMAT for bytes[0], which begins no valid character or U+0000: name, byte offset,
 * line, the bytes found, what is wrong with them, and `advice`.
 *   before  what the file holds before bytes[0]
 *   n       bytes there are, up to the end of the file or at least 4 */
enum status utf8_fail(struct error *err, const char *name, const struct utf8_count *before, const uint8_t *bytes,
                      size_t n, const char *advice);

/* A code point as a person should see it, terminated: a printable one as itself, a combining mark on a dotted
 * circle, the space as an open box, line feed, carriage return and tab as "\n", "\r", "\t", every other blank,
 * control, invisible or unassigned one as "U+00A0". */
#define UTF8_LABEL_SIZE 16
void utf8_label(uint32_t code, char out[UTF8_LABEL_SIZE]);

/* The same for a sentence, always with the code point: "'x' (U+0078)", "U+00A0". */
#define UTF8_DESCRIPTION_SIZE 32
void utf8_describe(uint32_t code, char out[UTF8_DESCRIPTION_SIZE]);

/* Terminal columns that a terminated text takes: two for an emoji or an ideograph, none for a combining mark or for
 * what is no UTF-8. */
size_t utf8_columns(const char *text);

/* Bytes of the longest beginning of a terminated text that takes at most `columns` terminal columns, and in *used how
 * many it takes: one less than `columns` where a wide character does not fit. Never cuts a character. */
size_t utf8_fit(size_t *used, const char *text, size_t columns);

/* A letter of a script that is written from right to left. */
bool utf8_right_to_left(uint32_t code);

/* A letter, mark or number: what words are made of. */
bool utf8_in_word(uint32_t code);

#endif
