/* From bytes that come in pieces to symbol ids, in one pass: where the vocabulary is made from the same text,
 * characters are numbered as they first appear, and renumbered in code point order at the end. Ids are kept as narrow
 * as their number allows, in one array that grows where it lies: no second copy of text or ids is ever held. */
#ifndef TEXT_ENCODER_H
#define TEXT_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/tokenizer.h"

#define ENCODER_LIMIT (UINT64_C(1) << 40) /* symbols: the longest text */

struct encoder {
    struct tokenizer *tokenizer;
    bool make;             /* the vocabulary is made from this text */
    void *ids;             /* (room) of `width` bytes, `count` of them filled */
    unsigned width;        /* 1, 2 or 4 */
    size_t count, room;    /* symbols */
    uint32_t *id_plus_one; /* by code point or byte, 0 where the vocabulary has none; NULL for bare ids and id = byte */
    uint32_t *found;       /* (n_found) code points in the order in which they first appeared */
    size_t n_found;        /* of bare ids: one more than the largest */
    size_t found_room;
};

/* tokenizer: made from the text when it comes with size 0 (its kind set); otherwise used as it is. STATUS_MEMORY. */
enum status encoder_begin(struct encoder *e, struct tokenizer *tokenizer, struct error *err);
void encoder_free(struct encoder *e);

/* Bytes at the end of a piece in which no symbol may begin, or it might be cut. */
size_t encoder_overlap(const struct encoder *e);

/* Takes the symbols that begin in bytes[0 .. stop), stop <= n; *done is the offset after the last one. A *done below
 * `stop` means that what begins there is no symbol: encoder_refuse says why. A text in pieces passes stop = n -
 * encoder_overlap for every piece but the last. STATUS_MEMORY: also when the ids would take more memory than
 * the system has left; STATUS_RANGE beyond ENCODER_LIMIT. Messages begin with `name`. */
enum status encoder_add(struct encoder *e, size_t *done, const uint8_t *bytes, size_t n, size_t stop, const char *name,
                        struct error *err);

/* The message (STATUS_FORMAT) for what begins at bytes[0], when the text before it is `before`; n as in utf8_fail. */
enum status encoder_refuse(const struct encoder *e, const struct utf8_count *before, const uint8_t *bytes, size_t n,
                           const char *name, struct error *err);

/* Ends the text: the vocabulary, if it is made here, and the ids in their final order and size. STATUS_MEMORY;
 * STATUS_FORMAT for a text without a symbol. */
enum status encoder_end(struct encoder *e, const char *name, struct error *err);

#endif
