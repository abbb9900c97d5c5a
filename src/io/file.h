/* A regular file's bytes by read(2), never mapped: when another process cuts the file off, the read fails with a
 * message, where touching a mapped page would end this process. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"

struct file {
    const char *path; /* borrowed; NULL when closed */
    int fd;
    size_t size; /* bytes, when it was opened */
};

/* Opens for reading; a folder, pipe or device is refused without waiting for it. `path` must outlive f. STATUS_OPEN. On
 * failure f is left closed. */
enum status file_open(struct file *f, const char *path, struct error *err);

/* Safe on a zeroed struct and on one that is closed. */
void file_close(struct file *f);

/* n bytes at offset `at`, at + n <= size (asserted). STATUS_READ, also when the file has become shorter. */
enum status file_read(const struct file *f, void *out, size_t n, size_t at, struct error *err);

/* The whole file (free *bytes; NULL when it is empty), whose size is compared with `most` before memory is taken.
 * STATUS_OPEN, STATUS_FORMAT (larger than `most`), STATUS_READ (it changed its size too), STATUS_MEMORY. */
enum status file_load(uint8_t **bytes, size_t *size, const char *path, size_t most, struct error *err);

/* The fingerprint of a file of any size, in little memory. STATUS_OPEN, STATUS_READ, STATUS_MEMORY. */
enum status file_hash(char out[HASH_TEXT_SIZE], const char *path, struct error *err);

#endif
