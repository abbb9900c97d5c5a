#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static void print(char *out, XXH128_hash_t h)
{
    snprintf(out, HASH_TEXT_SIZE, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

void hash_bytes(char out[HASH_TEXT_SIZE], const void *bytes, size_t n)
{
    print(out, XXH3_128bits(bytes, n));
}

bool hash_is_text(const char *text)
{
    return strspn(text, "0123456789abcdef") == HASH_TEXT_SIZE - 1 && text[HASH_TEXT_SIZE - 1] == '\0';
}

/* struct hash is never completed: a pointer to it is the library's state in disguise. */
struct hash *hash_begin(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state)
        XXH3_128bits_reset(state);
    return (struct hash *)state;
}

void hash_add(struct hash *h, const void *bytes, size_t n)
{
    XXH3_128bits_update((XXH3_state_t *)h, bytes, n);
}

void hash_end(char *out, struct hash *h)
{
    if (out)
        print(out, XXH3_128bits_digest((XXH3_state_t *)h));
    XXH3_freeState((XXH3_state_t *)h);
}
