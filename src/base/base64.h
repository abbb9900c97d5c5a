/* Bytes as printable ASCII: base64 of RFC 4648, section 4, with padding and without line ends. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Characters that n bytes become, without a terminating zero; n < SIZE_MAX / 2 (asserted). */
size_t base64_length(size_t n);

/* Writes base64_length(n) characters and no zero. out and bytes do not overlap. */
void base64_encode(char *out, const void *bytes, size_t n);

/* Whether text (length) is what base64_encode writes of n bytes, of whatever values. */
bool base64_is(const char *text, size_t length, size_t n);

#endif
