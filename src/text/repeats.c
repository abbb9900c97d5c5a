#include "text/repeats.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define SLOTS (4 * REPEATS_MOST) /* a power of two */

/* Polynomial hash of a stretch, modulo 2^64; what it finds is compared, so its collisions cost time only. */
static const uint64_t FACTOR = UINT64_C(0x9E3779B97F4A7C15);

struct stretch {
    uint64_t hash;
    size_t start;
    bool there, found;
};

struct search {
    const struct dataset *d;
    struct stretch slot[SLOTS];
    struct repeats *r;
};

static uint64_t add(uint64_t hash, uint32_t symbol)
{
    return hash * FACTOR + symbol + 1;
}

static size_t slot_of(uint64_t hash)
{
    return (size_t)(hash >> 40) % SLOTS;
}

static bool equal(const struct dataset *d, size_t a, size_t b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dataset_id(d, a + i) != dataset_id(d, b + i))
            return false;
    return true;
}

static void put(struct search *s, size_t start)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < s->r->length; i++)
        hash = add(hash, dataset_id(s->d, start + i));
    size_t i = slot_of(hash);
    while (s->slot[i].there)
        i = (i + 1) % SLOTS;
    s->slot[i] = (struct stretch){.hash = hash, .start = start, .there = true};
    s->r->tried++;
}

/* Marks every stretch that is what stands at `at`. */
static void look_up(struct search *s, uint64_t hash, size_t at)
{
    for (size_t i = slot_of(hash); s->slot[i].there; i = (i + 1) % SLOTS) {
        struct stretch *e = &s->slot[i];
        if (e->hash == hash && !e->found && equal(s->d, e->start, at, s->r->length)) {
            e->found = true;
            s->r->found++;
        }
    }
}

static void scan(struct search *s, size_t begin, size_t end)
{
    const size_t n = s->r->length;
    uint64_t hash = 0, oldest = 1; /* FACTOR^n: what a symbol that falls out weighs */
    for (size_t i = 0; i < n; i++)
        oldest *= FACTOR;
    for (size_t i = begin; i < end && s->r->found < s->r->tried; i++) {
        hash = add(hash, dataset_id(s->d, i));
        if (i >= begin + n)
            hash -= oldest * (dataset_id(s->d, i - n) + UINT64_C(1));
        if (i + 1 >= begin + n)
            look_up(s, hash, i + 1 - n);
    }
}

enum status repeats_find(struct repeats *r, const struct dataset *d, struct error *err)
{
    size_t begin, end;
    dataset_bounds(d, DATASET_VAL, &begin, &end);
    const size_t n = end - begin;
    *r = (struct repeats){.length = n < REPEATS_LENGTH ? n : REPEATS_LENGTH};
    if (n < REPEATS_LEAST)
        return STATUS_OK;
    struct search *s = calloc(1, sizeof *s);
    if (!s)
        return fail(err, STATUS_MEMORY, "repeats: out of memory");
    s->d = d;
    s->r = r;
    const size_t all = n / r->length, count = all < REPEATS_MOST ? all : REPEATS_MOST;
    for (size_t i = 0; i < count; i++)
        put(s, begin + all / count * i * r->length);
    dataset_bounds(d, DATASET_TRAIN, &begin, &end);
    scan(s, begin, end);
    free(s);
    return STATUS_OK;
}
