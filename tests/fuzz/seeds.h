/* The seed corpora: what nopeek itself writes, and what other programs write that it reads, made anew each time. */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include <stddef.h>
#include <stdint.h>

#include "fuzz/fuzz.h"

/* Takes one seed; the bytes are the caller's again afterwards. A name that begins with "not-" is of one that the reader
 * refuses; every other is accepted. */
typedef void seeds_emit(void *context, const char *name, const uint8_t *bytes, size_t n);

#define SEEDS_DECLARE(reader) void seeds_##reader(seeds_emit *emit, void *context);
FUZZ_EACH(SEEDS_DECLARE)

#endif
