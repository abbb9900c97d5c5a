/* Text on its way out, a few bytes at a time: whole UTF-8 characters leave as soon as they are whole, and nothing
 * leaves that may yet turn out to begin the stop string. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

struct stream {
    FILE *out;
    const char *stop; /* NULL: none */
    size_t stop_length;
    char *held; /* bytes that have not left yet */
    size_t count, room;
    bool whole; /* for the caller to set: the stop string counts only where it ends with what is put */
};

#define STREAM_MOST 11 /* bytes that may be put at once */

/* stop is NULL or not empty (asserted), and must outlive s. STATUS_MEMORY. */
enum status stream_open(struct stream *s, FILE *out, const char *stop, struct error *err);

/* Takes 1 .. STREAM_MOST bytes (asserted). True when they complete the stop string: what stands before it has left, it
 * and what follows never does. Each whole character is flushed. */
bool stream_put(struct stream *s, const void *bytes, size_t n);

/* The text ends here: lets out what is held, an incomplete character too. */
void stream_end(struct stream *s);
void stream_free(struct stream *s);

#endif
