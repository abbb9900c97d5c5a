/* The vocabulary: one symbol per Unicode code point of the text, or one per byte. Ids follow code
 * point order, so that a text gives the same vocabulary on every machine. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/charset.h"
#include "text/utf8.h"

enum tokenizer_kind {
    TOKENIZER_CHARS, /* one code point = one symbol */
    TOKENIZER_BYTES, /* V = 256, id = byte */
};

struct tokenizer {
    enum tokenizer_kind kind;
    size_t size;      /* V */
    uint32_t *symbol; /* (V) code points, strictly ascending; NULL in byte mode */
};

void tokenizer_free(struct tokenizer *t);

/* Byte mode needs no text. */
void tokenizer_make_bytes(struct tokenizer *t);

/* What to do about a text that no vocabulary of characters can be made from. */
#define TOKENIZER_ADVICE_NEW "convert it to UTF-8, or take it as bytes with --tokens byte"

/* The distinct code points of n bytes of UTF-8. `name` (a path) begins the message.
 * STATUS_FORMAT: invalid UTF-8 (names the byte offset and line, and advises --tokens byte), U+0000
 * (likewise), or no character at all. STATUS_MEMORY. */
enum status tokenizer_make_chars(struct tokenizer *t, const uint8_t *bytes, size_t n, const char *name,
                                 struct error *err);

/* The same from a set that was gathered before, for a text that comes in pieces. An empty set is refused
 * (STATUS_FORMAT). */
enum status tokenizer_make_set(struct tokenizer *t, const struct charset *set, const char *name, struct error *err);

/* Reads one symbol at bytes[*at], advances *at past it and writes its id. *at < n (asserted). STATUS_FORMAT:
 * invalid UTF-8, or a character that the vocabulary lacks (names it, its code point, and the position counted
 * in characters and in bytes). */
enum status tokenizer_next(const struct tokenizer *t, uint32_t *id, const uint8_t *bytes, size_t n, size_t *at,
                           const char *name, struct error *err);

/* The message (STATUS_FORMAT) for the symbol at bytes[0] that tokenizer_next would refuse, when the text before
 * it is `before`; n as in utf8_fail. */
enum status tokenizer_refuse(const struct tokenizer *t, const struct utf8_count *before, const uint8_t *bytes, size_t n,
                             const char *name, struct error *err);

/* All of bytes: *ids is allocated (free it), *count symbols. Errors as tokenizer_next, STATUS_MEMORY.
 * n = 0 gives count 0 and *ids = NULL. */
enum status tokenizer_encode(const struct tokenizer *t, uint32_t **ids, size_t *count, const uint8_t *bytes, size_t n,
                             const char *name, struct error *err);

/* The bytes of one symbol, 1 .. 4 of them; returns how many. id < size (asserted). */
size_t tokenizer_decode(const struct tokenizer *t, uint32_t id, uint8_t out[4]);

/* A symbol as a person should see it in a table or message, terminated: as utf8_label, so printable characters
 * as themselves and newline as "\n"; bytes that are no ASCII character to be seen as "0xE9". */
#define TOKENIZER_LABEL_SIZE UTF8_LABEL_SIZE
void tokenizer_label(const struct tokenizer *t, uint32_t id, char out[TOKENIZER_LABEL_SIZE]);

/* STATUS_FORMAT when a and b differ, with the differing characters in the message (those only in a as
 * "<a_name> alone has", then those only in b; at most eight of each, then how many more). */
enum status tokenizer_same(const struct tokenizer *a, const char *a_name, const struct tokenizer *b, const char *b_name,
                           struct error *err);

/* The `tokenizers` library's tokenizer.json (WordLevel over single code points; the byte-level alphabet
 * in byte mode) and transformers' tokenizer_config.json, which is the same for every vocabulary, as new references.
 * NULL when memory is refused. */
json_t *tokenizer_to_json(const struct tokenizer *t);
json_t *tokenizer_config_json(size_t block_size);

/* Reads what tokenizer_to_json wrote, believing nothing: ids must be 0 .. V-1 without gaps, each a single
 * code point, in ascending order, and nothing around the vocabulary may change the text or the ids (a normalizer,
 * added tokens, merges). STATUS_FORMAT, STATUS_MEMORY; `name` begins the message. On failure t is left empty. */
enum status tokenizer_from_json(struct tokenizer *t, const json_t *json, const char *name, struct error *err);

#endif
