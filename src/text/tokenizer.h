/* The vocabulary: one symbol per Unicode code point of the text, or one per byte, or bare ids. Ids follow code
 * point order where the vocabulary is made from a text, so that the same text gives the same one on every machine; a
 * vocabulary that comes from elsewhere may have its own order, and ids that stand for nothing. */
#ifndef TEXT_TOKENIZER_H
#define TEXT_TOKENIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/charset.h"
#include "text/utf8.h"

enum tokenizer_kind {
    TOKENIZER_CHARS, /* one code point = one symbol */
    TOKENIZER_BYTES, /* one byte = one symbol */
    TOKENIZER_IDS,   /* the text is the ids themselves, as decimal numbers separated by white space */
};

/* No code point and no byte: what an id stands for that no text ever holds. */
#define TOKENIZER_NOTHING UINT32_MAX

/* The most symbols a vocabulary of bare ids may have, as config_check has it. */
#define TOKENIZER_MOST_IDS ((size_t)1 << 30)

struct tokenizer {
    enum tokenizer_kind kind;
    size_t size;      /* V */
    uint32_t *symbol; /* (V) the code point or byte of each id, or TOKENIZER_NOTHING. NULL for bare ids, and for bytes
                         where V = 256 and id = byte */
    uint32_t *order;  /* (known) ids by ascending symbol; NULL where `symbol` itself ascends, or is NULL */
    size_t known;     /* ids in `order` */
};

void tokenizer_free(struct tokenizer *t);

/* The words for a kind: "character", "characters", and the value of --tokens, "char". */
const char *tokenizer_unit(enum tokenizer_kind kind);
const char *tokenizer_units(enum tokenizer_kind kind);
const char *tokenizer_option(enum tokenizer_kind kind);

/* Byte mode needs no text. */
void tokenizer_make_bytes(struct tokenizer *t);

/* Bare ids, 0 .. V-1; 0 < V <= TOKENIZER_MOST_IDS (asserted). */
void tokenizer_make_ids(struct tokenizer *t, size_t V);

/* A vocabulary in any order, of characters or bytes (not ids): symbol (V), allocated by the caller, is taken over, also
 * on failure. STATUS_FORMAT when two ids stand for the same or none stands for anything; STATUS_MEMORY. On failure t is
 * left empty. `name` begins the message. */
enum status tokenizer_make_order(struct tokenizer *t, enum tokenizer_kind kind, uint32_t *symbol, size_t V,
                                 const char *name, struct error *err);

/* Gives the vocabulary V ids: those that are added stand for nothing, those that go must stand for nothing already
 * (STATUS_FORMAT). Bare ids just change their number. STATUS_MEMORY. On failure t is as it was. */
enum status tokenizer_resize(struct tokenizer *t, size_t V, const char *name, struct error *err);

/* How many ids stand for something. */
size_t tokenizer_count(const struct tokenizer *t);

/* Whether an id stands for something. id < size (asserted). */
bool tokenizer_knows(const struct tokenizer *t, uint32_t id);

/* *silent, to be freed, is (V), true for ids that stand for nothing; NULL where every id stands for something.
 * STATUS_MEMORY. */
enum status tokenizer_silent(bool **silent, const struct tokenizer *t, struct error *err);

/* The id of a code point, or of a byte in byte mode; false when the vocabulary lacks it. Not for bare ids (asserted).
 */
bool tokenizer_find(const struct tokenizer *t, uint32_t symbol, uint32_t *id);

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
 * in characters and in bytes). Bare ids: bytes[*at] is no white space; the white space after the number is passed
 * over too. STATUS_FORMAT: no number, or an id that is not below V. */
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

/* The bytes of one symbol, 1 .. TOKENIZER_SYMBOL_SIZE of them; returns how many. 0 for an id that stands for nothing.
 * Bare ids are their digits: whoever writes several puts a blank between them. id < size (asserted). */
#define TOKENIZER_SYMBOL_SIZE 10
size_t tokenizer_decode(const struct tokenizer *t, uint32_t id, uint8_t out[TOKENIZER_SYMBOL_SIZE]);

/* A symbol as a person should see it in a table or message, terminated: as utf8_label, so printable characters
 * as themselves and newline as "\n"; bytes that are no ASCII character to be seen as "0xE9", ids that stand for
 * nothing, and bare ids, as "#12". */
#define TOKENIZER_LABEL_SIZE UTF8_LABEL_SIZE
void tokenizer_label(const struct tokenizer *t, uint32_t id, char out[TOKENIZER_LABEL_SIZE]);

/* STATUS_FORMAT when a and b differ in what they can read, whatever the ids, with the differing characters in the
 * message (those only in a as
 * "<a_name> alone has", then those only in b; at most eight of each, then how many more). */
enum status tokenizer_same(const struct tokenizer *a, const char *a_name, const struct tokenizer *b, const char *b_name,
                           struct error *err);

/* The `tokenizers` library's tokenizer.json (WordLevel over single code points; the byte-level alphabet
 * in byte mode; WordLevel over "0", "1", ... for bare ids) and transformers' tokenizer_config.json, which is the same
 * for every vocabulary, as new references. An id that stands for nothing is written as "<unused ID>", which no text
 * gives. NULL when memory is refused. */
json_t *tokenizer_to_json(const struct tokenizer *t);
json_t *tokenizer_config_json(size_t block_size);

/* Reads what tokenizer_to_json wrote, and what other programs write when it means the same: one id for every code
 * point, byte or number, in any order of the ids, and nothing around the vocabulary that would change the ids of a text
 * (tokenizer_frame.h). V is one more than the highest id; ids without an entry, or whose entry is longer than one
 * character (as <pad>), stand for nothing. Believes nothing. STATUS_FORMAT, STATUS_MEMORY; `name` begins the message.
 * On failure t is left empty. */
enum status tokenizer_from_json(struct tokenizer *t, const json_t *json, const char *name, struct error *err);

/* GPT-2's byte-level alphabet (Radford et al. 2019): each byte as a character that can be seen. Those that print
 * in Latin-1 stand for themselves, the others for U+0100 and up, in order. */
void tokenizer_byte_alphabet(uint32_t code[256]);

#endif
