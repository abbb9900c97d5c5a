/* A file's bytes, mapped read-only. */
#ifndef IO_MAPPED_H
#define IO_MAPPED_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct mapped {
    const uint8_t *bytes; /* (size); NULL for an empty file */
    size_t size;
};

/* Maps a regular file; a folder, pipe or device is refused without waiting for it. The file must not be
 * shortened while it is mapped (committed files never are). STATUS_OPEN with path and reason. */
enum status mapped_open(struct mapped *m, const char *path, struct error *err);

/* Safe on a zeroed struct. */
void mapped_close(struct mapped *m);

#endif
