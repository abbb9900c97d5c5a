#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

void *arena_take(struct arena *a, size_t count, size_t size)
{
    size_t bytes, padded, end;
    if (!checked_mul(&bytes, count, size) || !checked_add(&padded, bytes, ARENA_ALIGN - 1) ||
        !checked_add(&end, a->used, padded & ~(size_t)(ARENA_ALIGN - 1))) {
        a->overflow = true;
        return NULL;
    }
    unsigned char *piece = a->base ? a->base + a->used : NULL;
    assert(!a->base || end <= a->size);
    a->used = end;
    return bytes ? piece : NULL;
}

enum status arena_place(struct arena *a, struct error *err)
{
    assert(!a->base);
    if (a->overflow)
        return fail(err, STATUS_RANGE,
                    "the sizes asked for overflow this machine's addresses: choose a smaller model, batch or context");
    const size_t size = a->used ? a->used : ARENA_ALIGN;
    void *base = NULL;
    if (posix_memalign(&base, ARENA_ALIGN, size) != 0)
        return fail(err, STATUS_MEMORY, "%.1f MB of memory were refused: choose a smaller model, batch or context",
                    (double)size / 1e6);
    memset(base, 0, size);
    a->base = base;
    a->size = size;
    a->used = 0;
    return STATUS_OK;
}

void arena_free(struct arena *a)
{
    free(a->base);
    *a = (struct arena){0};
}
