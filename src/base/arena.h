/* One block of memory, measured first and placed after: a layout function runs once on a measuring
 * arena, which only counts, then again on a placed one, which hands out the same pieces.
 *
 *     struct arena a = {0};
 *     layout(&x, &a);                  // counts; every pointer is NULL
 *     printf("%zu bytes", a.used);     // the size is known before it is taken
 *     arena_place(&a, err);            // one zeroed allocation, 64-byte aligned
 *     layout(&x, &a);                  // the real pointers
 *     arena_free(&a); */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define ARENA_ALIGN 64

struct arena {
    unsigned char *base; /* NULL while measuring */
    size_t used;         /* bytes handed out */
    size_t size;         /* bytes there are; 0 while measuring */
    bool overflow;       /* a size did not fit in size_t; arena_place reports it */
};

/* count elements of `size` bytes each, at a multiple of 64. NULL while measuring or for count = 0.
 * Asserts that a placed arena was measured with the same requests. */
void *arena_take(struct arena *a, size_t count, size_t size);

/* Allocates what was measured, zeroed. STATUS_RANGE on overflow, STATUS_MEMORY when refused. */
enum status arena_place(struct arena *a, struct error *err);

/* Gives the memory back and leaves a measuring arena. */
void arena_free(struct arena *a);

#endif
