/* The lines of a file, one after another, in memory bounded by the longest line that is wanted. */
#ifndef IO_LINES_H
#define IO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/file.h"

struct lines {
    struct file file;
    size_t most;       /* bytes of a line */
    uint8_t *buffer;   /* (room) */
    size_t room;       /* at most most + 1 */
    size_t begin, end; /* what of the buffer has not been given out */
    size_t at;         /* of buffer[end] in the file */
};

struct line {
    const uint8_t *bytes; /* (n), without the line end, until the next call; NULL when longer than `most` */
    size_t n;
    bool ended; /* by a line feed; only the last line may lack it */
};

/* A line of more than `most` bytes is passed over in little memory and given as NULL. `path` must outlive l.
 * STATUS_OPEN, as file_open; STATUS_MEMORY. On failure l is left closed. */
enum status lines_open(struct lines *l, const char *path, size_t most, struct error *err);
void lines_close(struct lines *l);

/* The next line; *more is false after the last. STATUS_READ, STATUS_MEMORY. */
enum status lines_next(struct line *line, bool *more, struct lines *l, struct error *err);

#endif
