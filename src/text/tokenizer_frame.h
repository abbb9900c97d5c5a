/* What stands around the vocabulary in a tokenizer.json: whether a text, on its way through it, becomes exactly one id
 * for each of its characters, bytes or numbers. https://github.com/huggingface/tokenizers. */
#ifndef TEXT_TOKENIZER_FRAME_H
#define TEXT_TOKENIZER_FRAME_H

#include <jansson.h>

#include "base/status.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

/* Tells the kind of the vocabulary. Accepted is what the library would make one symbol a character of:
 *     characters   WordLevel after a Split that isolates every character; BPE without merges after anything that only
 *                  cuts the text
 *     bytes        the same with one ByteLevel step that adds no blank
 *     ids          WordLevel after WhitespaceSplit
 * Steps behind the vocabulary (decoder, padding, truncation, a post-processor that adds nothing) change no id of a text
 * and are ignored. STATUS_FORMAT naming what would: a normalizer, merges, a step that drops or changes text, tokens
 * added around it. `name` begins the message. */
enum status tokenizer_frame_read(enum tokenizer_kind *kind, const json_t *json, const char *name, struct error *err);

/* A string from a file, safe in a message: its first characters as labels. */
#define TOKENIZER_FRAME_SHOWN 24
struct tokenizer_frame_text {
    char text[TOKENIZER_FRAME_SHOWN * UTF8_LABEL_SIZE + 4];
};
struct tokenizer_frame_text tokenizer_frame_show(const char *string);

#endif
