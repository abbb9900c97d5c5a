#include "text/encoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "text/numerals.h"

/* The array grows by half of itself, within these bounds, in bytes. A large block is not copied as it grows: the
 * system moves its pages. */
#define GROW_AT_LEAST ((size_t)64 << 10)
#define GROW_AT_MOST ((size_t)256 << 20)
/* Below this much it is not asked whether the memory is there. */
#define WORTH_ASKING ((size_t)16 << 20)

static unsigned width_for(size_t V)
{
    return V <= (size_t)1 << 8 ? 1 : V <= (size_t)1 << 16 ? 2 : 4;
}

/* Where the vocabulary has each code point, or byte. Bytes that are their own ids need no table, and numbers none. */
static enum status make_table(struct encoder *e, struct error *err)
{
    const struct tokenizer *t = e->tokenizer;
    if (t->kind != TOKENIZER_CHARS && !t->symbol)
        return STATUS_OK;
    e->id_plus_one = calloc(t->kind == TOKENIZER_CHARS ? UTF8_CODE_POINTS : 256, sizeof *e->id_plus_one);
    if (!e->id_plus_one)
        return fail(err, STATUS_MEMORY, "no memory for a table of %s", tokenizer_units(t->kind));
    for (size_t id = 0; id < t->size; id++)
        if (t->symbol[id] != TOKENIZER_NOTHING)
            e->id_plus_one[t->symbol[id]] = (uint32_t)id + 1;
    return STATUS_OK;
}

enum status encoder_begin(struct encoder *e, struct tokenizer *tokenizer, struct error *err)
{
    *e = (struct encoder){.tokenizer = tokenizer, .make = tokenizer->size == 0, .width = width_for(tokenizer->size)};
    if (e->make && tokenizer->kind == TOKENIZER_BYTES)
        tokenizer_make_bytes(tokenizer);
    return make_table(e, err);
}

void encoder_free(struct encoder *e)
{
    free(e->ids);
    free(e->id_plus_one);
    free(e->found);
    *e = (struct encoder){0};
}

static void put(void *ids, unsigned width, size_t i, uint32_t id)
{
    if (width == 1)
        ((uint8_t *)ids)[i] = (uint8_t)id;
    else if (width == 2)
        ((uint16_t *)ids)[i] = (uint16_t)id;
    else
        ((uint32_t *)ids)[i] = id;
}

static uint32_t get(const void *ids, unsigned width, size_t i)
{
    if (width == 1)
        return ((const uint8_t *)ids)[i];
    if (width == 2)
        return ((const uint16_t *)ids)[i];
    return ((const uint32_t *)ids)[i];
}

/* ---- room ---- */

static enum status resize(struct encoder *e, size_t room, unsigned width, const char *name, struct error *err)
{
    size_t size = 0;
    void *ids = checked_mul(&size, room, width) ? realloc(e->ids, size) : NULL;
    if (!ids)
        return fail(err, STATUS_MEMORY, "%s: no memory for more than its first %zu symbols: train on a part of it",
                    name, e->count);
    e->ids = ids;
    e->room = room;
    return STATUS_OK;
}

/* The system grants memory that it does not have and ends the process later, so it is asked how much there is. */
static enum status check_memory(const struct encoder *e, size_t more, const char *name, struct error *err)
{
    const size_t available = more >= WORTH_ASKING ? memory_available() : 0;
    if (available == 0 || more <= available)
        return STATUS_OK;
    return fail(err, STATUS_MEMORY,
                "%s: %zu symbols read, and %zu MB of memory left are too few for more: train on a part of it", name,
                e->count, available >> 20);
}

static enum status make_room(struct encoder *e, size_t more, const char *name, struct error *err)
{
    if (e->room - e->count >= more)
        return STATUS_OK;
    size_t grow = e->room / 2 * e->width;
    grow = grow < GROW_AT_LEAST ? GROW_AT_LEAST : grow > GROW_AT_MOST ? GROW_AT_MOST : grow;
    const size_t by = grow / e->width > more ? grow / e->width : more;
    size_t room;
    if (!checked_add(&room, e->count, by) || e->count > ENCODER_LIMIT - more)
        return fail(err, STATUS_RANGE, "%s: more than %llu symbols: train on a part of it", name,
                    (unsigned long long)ENCODER_LIMIT);
    const enum status s = check_memory(e, by * e->width, name, err);
    return s == STATUS_OK ? resize(e, room, e->width, name, err) : s;
}

/* From the end, so that no id is written over before it is read. */
static enum status widen(struct encoder *e, const char *name, struct error *err)
{
    const unsigned width = 2 * e->width;
    enum status s = check_memory(e, e->count * (width - e->width), name, err);
    if (s == STATUS_OK)
        s = resize(e, e->room, width, name, err);
    if (s != STATUS_OK)
        return s;
    for (size_t i = e->count; i-- > 0;)
        put(e->ids, width, i, get(e->ids, e->width, i));
    e->width = width;
    return STATUS_OK;
}

/* ---- symbols ---- */

/* A character that was not met before gets the next number. */
static enum status learn(struct encoder *e, uint32_t code, const char *name, struct error *err)
{
    if (e->n_found == e->found_room) {
        const size_t room = 2 * e->found_room + 256;
        uint32_t *found = realloc(e->found, room * sizeof *found);
        if (!found)
            return fail(err, STATUS_MEMORY, "%s: no memory for a vocabulary of more than %zu characters", name,
                        e->n_found);
        e->found = found;
        e->found_room = room;
    }
    e->found[e->n_found++] = code;
    e->id_plus_one[code] = (uint32_t)e->n_found;
    return e->width < 4 && e->n_found > (size_t)1 << (8 * e->width) ? widen(e, name, err) : STATUS_OK;
}

/* Most of most texts: one-byte characters that are known, with one-byte ids. Returns how many come first. */
static size_t known_ascii(uint8_t *restrict ids, const uint8_t *restrict bytes, size_t n,
                          const uint32_t *restrict id_plus_one)
{
    size_t i = 0;
    for (; i < n && bytes[i] < 128 && id_plus_one[bytes[i]] != 0; i++)
        ids[i] = (uint8_t)(id_plus_one[bytes[i]] - 1);
    return i;
}

static enum status add_characters(struct encoder *e, size_t *done, const uint8_t *bytes, size_t n, size_t stop,
                                  const char *name, struct error *err)
{
    size_t at = 0;
    while (at < stop) {
        if (e->width == 1) {
            const size_t known = known_ascii((uint8_t *)e->ids + e->count, bytes + at, stop - at, e->id_plus_one);
            e->count += known;
            at += known;
            if (at == stop)
                break;
        }
        uint32_t code = bytes[at];
        const size_t length = code < 128 ? code > 0 : utf8_decode(&code, bytes + at, n - at);
        if (length == 0)
            break;
        if (e->id_plus_one[code] == 0) {
            if (!e->make)
                break;
            const enum status s = learn(e, code, name, err);
            if (s != STATUS_OK)
                return s;
        }
        put(e->ids, e->width, e->count++, e->id_plus_one[code] - 1);
        at += length;
    }
    *done = at;
    return STATUS_OK;
}

static void add_bytes(struct encoder *e, size_t *done, const uint8_t *bytes, size_t stop)
{
    if (!e->id_plus_one && stop > 0)
        memcpy((uint8_t *)e->ids + e->count, bytes, stop);
    size_t at = e->id_plus_one ? 0 : stop;
    for (; at < stop && e->id_plus_one[bytes[at]] != 0; at++)
        put(e->ids, e->width, e->count + at, e->id_plus_one[bytes[at]] - 1);
    e->count += at;
    *done = at;
}

/* White space after the last number goes with it. */
static enum status add_numbers(struct encoder *e, size_t *done, const uint8_t *bytes, size_t n, size_t stop,
                               const char *name, struct error *err)
{
    const size_t most = e->make ? TOKENIZER_MOST_IDS : e->tokenizer->size;
    size_t at = numerals_skip(bytes, n, 0);
    while (at < stop) {
        uint64_t number;
        const size_t length = numerals_read(&number, bytes + at, n - at);
        if (length == 0 || number >= most)
            break;
        while (number >> (8 * e->width) != 0) {
            const enum status s = widen(e, name, err);
            if (s != STATUS_OK)
                return s;
        }
        put(e->ids, e->width, e->count++, (uint32_t)number);
        e->n_found = number >= e->n_found ? (size_t)number + 1 : e->n_found;
        at = numerals_skip(bytes, n, at + length);
    }
    *done = at;
    return STATUS_OK;
}

enum status encoder_add(struct encoder *e, size_t *done, const uint8_t *bytes, size_t n, size_t stop, const char *name,
                        struct error *err)
{
    assert(stop <= n);
    const enum status s = make_room(e, stop, name, err); /* a symbol takes at least one byte */
    if (s != STATUS_OK)
        return s;
    switch (e->tokenizer->kind) {
    case TOKENIZER_CHARS:
        return add_characters(e, done, bytes, n, stop, name, err);
    case TOKENIZER_IDS:
        return add_numbers(e, done, bytes, n, stop, name, err);
    case TOKENIZER_BYTES:
        break;
    }
    add_bytes(e, done, bytes, stop);
    return STATUS_OK;
}

size_t encoder_overlap(const struct encoder *e)
{
    switch (e->tokenizer->kind) {
    case TOKENIZER_CHARS:
        return 3;
    case TOKENIZER_IDS:
        return NUMERALS_OVERLAP;
    case TOKENIZER_BYTES:
        break;
    }
    return 0;
}

enum status encoder_refuse(const struct encoder *e, const struct utf8_count *before, const uint8_t *bytes, size_t n,
                           const char *name, struct error *err)
{
    if (e->make && e->tokenizer->kind == TOKENIZER_IDS)
        return numerals_fail(err, name, before, bytes, n, 0);
    if (e->make)
        return utf8_fail(err, name, before, bytes, n, TOKENIZER_ADVICE_NEW);
    return tokenizer_refuse(e->tokenizer, before, bytes, n, name, err);
}

/* ---- the end ---- */

static enum status make_vocabulary(struct encoder *e, const char *name, struct error *err)
{
    struct charset *set = calloc(1, sizeof *set);
    if (!set)
        return fail(err, STATUS_MEMORY, "%s: no memory to sort its characters", name);
    for (size_t i = 0; i < e->n_found; i++)
        set->bits[e->found[i] / 64] |= UINT64_C(1) << (e->found[i] % 64);
    const enum status s = tokenizer_make_set(e->tokenizer, set, name, err);
    free(set);
    return s;
}

/* found[number] becomes the final id of the character that has that number. */
static void renumber(struct encoder *e)
{
    for (size_t id = 0; id < e->tokenizer->size; id++)
        e->found[e->id_plus_one[e->tokenizer->symbol[id]] - 1] = (uint32_t)id;
    void *const ids = e->ids;
    const unsigned width = e->width;
    uint8_t narrow[256];
    for (size_t i = 0; width == 1 && i < e->n_found; i++)
        narrow[i] = (uint8_t)e->found[i];
    for (size_t i = 0; width == 1 && i < e->count; i++)
        ((uint8_t *)ids)[i] = narrow[((uint8_t *)ids)[i]];
    for (size_t i = 0; width > 1 && i < e->count; i++)
        put(ids, width, i, e->found[get(ids, width, i)]);
}

enum status encoder_end(struct encoder *e, const char *name, struct error *err)
{
    if (e->tokenizer->kind == TOKENIZER_IDS && e->count == 0)
        return fail(err, STATUS_FORMAT, "%s: holds nothing but white space; name a file of ids", name);
    if (e->make && e->tokenizer->kind == TOKENIZER_IDS)
        tokenizer_make_ids(e->tokenizer, e->n_found);
    if (e->make && e->tokenizer->kind == TOKENIZER_CHARS) {
        const enum status s = make_vocabulary(e, name, err);
        if (s != STATUS_OK)
            return s;
        renumber(e);
    }
    /* A smaller block is always granted, or else the larger one does as well. */
    void *exact = e->count > 0 ? realloc(e->ids, e->count * e->width) : NULL;
    if (exact) {
        e->ids = exact;
        e->room = e->count;
    }
    return STATUS_OK;
}
