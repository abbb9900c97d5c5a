/* A 128-bit XXH3 fingerprint, as 32 hex digits: tells whether a text or a file is the same one as
 * before. It detects damage and mix-ups, not malice. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>

#define HASH_TEXT_SIZE 33 /* 32 hex digits and the terminating zero */

/* One pass over n bytes. */
void hash_bytes(char out[HASH_TEXT_SIZE], const void *bytes, size_t n);

/* Whether this is how a fingerprint is written: 32 digits, 0-9 and a-f. */
bool hash_is_text(const char *text);

/* The same fingerprint of bytes that come in pieces: begin, add any number of times, end. */
struct hash;

/* NULL when memory is refused. */
struct hash *hash_begin(void);
void hash_add(struct hash *h, const void *bytes, size_t n);

/* Writes the fingerprint of all that was added, unless out is NULL, and frees h (NULL is fine then). */
void hash_end(char *out, struct hash *h);

#endif
