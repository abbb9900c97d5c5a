/* JSON from a file that is not trusted: its size, nesting and number of values are looked at before the parser, which
 * takes memory for each of them, sees any. */
#ifndef IO_JSON_TEXT_H
#define IO_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The most that a file of some kind can need. */
struct json_limits {
    size_t bytes;
    size_t depth;  /* objects and lists within one another; the outermost counts as 1 */
    size_t values; /* in all of the text; a key and its value count as one */
};

/* STATUS_FORMAT with what is too much and where, naming `name`. Says nothing about whether the text is JSON; memory
 * that a parser takes for a text that passes is bounded by the limits. */
enum status json_text_check(const char *name, const uint8_t *text, size_t n, const struct json_limits *limits,
                            struct error *err);

/* Checks, then parses, without duplicate keys. `flags` are jansson's besides: JSON_ALLOW_NUL, or 0. *out is a new
 * reference, NULL on failure. STATUS_FORMAT naming line and reason; STATUS_MEMORY. */
enum status json_text_parse(json_t **out, const char *name, const uint8_t *text, size_t n, size_t flags,
                            const struct json_limits *limits, struct error *err);

/* The other way: text that is whole or not there, where jansson's json_dumps, when it is refused memory, may return one
 * that lacks a key. It ends in a zero and is to be freed; *size, which may be NULL, is its length. `flags` are
 * json_dumps's. NULL when memory is refused, or json is NULL or nothing that JSON can hold. */
char *json_text_make(const json_t *json, size_t flags, size_t *size);

#endif
