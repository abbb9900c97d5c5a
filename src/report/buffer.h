/* Bytes that grow at the end, in the making of a page or a picture. Running out of memory is remembered, so that a
 * hundred appends need one check, at the end. */
#ifndef REPORT_BUFFER_H
#define REPORT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct buffer {
    char *bytes; /* (count), then a zero; NULL while empty */
    size_t count, room;
    bool failed; /* memory was refused: what is there is not all */
};

/* Begin with all zero. After a failure these do nothing. */
void buffer_put(struct buffer *b, const void *bytes, size_t n);
void buffer_text(struct buffer *b, const char *text);
void buffer_print(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* STATUS_MEMORY when anything was lost; `what` begins the message. */
enum status buffer_check(const struct buffer *b, const char *what, struct error *err);

void buffer_free(struct buffer *b);

#endif
