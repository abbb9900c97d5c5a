/* One input of text, read in pieces as often as needed. A regular file is memory-mapped a window at a time, so
 * that it never counts in full towards the memory in use; a pipe, a FIFO, standard input that is no file, and
 * what cannot be mapped is read whole into memory once. */
#ifndef TEXT_SOURCE_H
#define TEXT_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define SOURCE_WINDOW ((size_t)8 << 20)        /* bytes mapped at a time */
#define SOURCE_LIMIT (UINT64_C(1) << 40)       /* bytes: the longest input */
#define SOURCE_STANDARD_INPUT "standard input" /* the name of path "-" in messages */

struct source {
    const char *path; /* borrowed */
    const char *name; /* the path, or SOURCE_STANDARD_INPUT */
    size_t size;      /* bytes of text */
    uint8_t *buffer;  /* (size) when read into memory, else NULL */
    int fd;           /* open while windows are being taken from a file, else -1 */
    off_t start;      /* where the text begins in the file: standard input may be half read */
    dev_t device;     /* device and file say whether a path still leads to the same file */
    ino_t file;
    void *map; /* the present window, or NULL */
    size_t map_size;
};

/* Opens path ("-" is standard input) and finds its size; no file stays open. STATUS_OPEN, STATUS_READ: path and
 * reason; a directory is named as one. STATUS_RANGE above SOURCE_LIMIT, STATUS_MEMORY. On failure nothing is
 * left open or allocated. */
enum status source_open(struct source *s, const char *path, struct error *err);
void source_close(struct source *s);

/* The bytes from offset `at` on, at < size (asserted): *n > 3 of them, or all there are to the end. Valid until
 * the next call for this source. STATUS_OPEN, STATUS_READ, also when the file is no longer the size it was. */
enum status source_window(struct source *s, const uint8_t **bytes, size_t *n, size_t at, struct error *err);

/* Ends a pass over the source: releases the window and the open file. */
void source_rest(struct source *s);

#endif
