#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>

void hash_bytes(char out[HASH_TEXT_SIZE], const void *bytes, size_t n)
{
    const XXH128_hash_t h = XXH3_128bits(bytes, n);
    snprintf(out, HASH_TEXT_SIZE, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}
