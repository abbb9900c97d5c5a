/* One input of text, read once from its beginning to its end through a small buffer: a file, a pipe, a FIFO or
 * standard input alike. Nothing is mapped, so that a file that is cut short meanwhile is an error and no crash. */
#ifndef TEXT_SOURCE_H
#define TEXT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/status.h"

#define SOURCE_WINDOW ((size_t)1 << 20)        /* bytes held at a time */
#define SOURCE_LEAST ((size_t)64)              /* bytes that a piece has, short of the end */
#define SOURCE_LIMIT (UINT64_C(1) << 40)       /* bytes: the longest input */
#define SOURCE_STANDARD_INPUT "standard input" /* the name of path "-" in messages */

struct source {
    const char *path;   /* borrowed */
    const char *name;   /* the path, or SOURCE_STANDARD_INPUT */
    int fd;             /* -1 when closed */
    uint8_t *buffer;    /* (SOURCE_WINDOW) */
    size_t begin, end;  /* the bytes in it that are still to be taken */
    bool ended;         /* the input has no more than those */
    uint64_t total;     /* bytes read so far */
    bool regular;       /* a file whose size is known: it must not change while it is read */
    struct stat before; /* what it was when it was opened */
    uint64_t expected;  /* bytes from where reading began to the end of a regular file */
};

/* What can be told of a path without reading it: *size is the bytes it holds, 0 where that is unknown (a pipe, a
 * FIFO, a file that the system makes up). STATUS_OPEN: it is missing, may not be read, or is a directory; STATUS_RANGE
 * above SOURCE_LIMIT. */
enum status source_look(uint64_t *size, const char *path, struct error *err);

/* Opens path ("-" is standard input, from where it stands). STATUS_OPEN: path and reason; a directory is named as
 * one. STATUS_RANGE above SOURCE_LIMIT, STATUS_MEMORY. On failure nothing is left open or allocated. */
enum status source_open(struct source *s, const char *path, struct error *err);
void source_close(struct source *s);

/* The bytes that follow those taken so far, after taking the first `used` of the last ones: at least SOURCE_LEAST of
 * them, or all there are to the end; 0 is the end. Valid until the next call. STATUS_READ: path and reason, also when a
 * file is not what it was when it was opened. STATUS_OPEN for a device that has bytes to
 * give and is no terminal. STATUS_RANGE beyond SOURCE_LIMIT. */
enum status source_next(struct source *s, const uint8_t **bytes, size_t *n, size_t used, struct error *err);

#endif
