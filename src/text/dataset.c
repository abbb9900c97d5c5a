#include "text/dataset.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/rng.h"
#include "text/source.h"

static const uint64_t MAX_SYMBOLS = UINT64_C(1) << 40;

/* A text in the making: all files are gone through in order, twice for characters (first which ones and how many
 * there are, then their ids, into an array of just that size), once for bytes. */
struct reader {
    struct dataset *d;
    struct tokenizer *tokenizer;
    bool make;               /* the vocabulary is made from this text */
    struct charset *set;     /* characters: those found by the first pass */
    uint32_t *id_plus_one;   /* characters: by code point, 0 where the vocabulary has none */
    size_t filled;           /* symbols that have their id */
    struct hash *hash;       /* of the present pass */
    struct utf8_count count; /* of the present file, up to the present window */
    struct source *source;   /* (n_sources) */
    size_t n_sources;
};

/* A window of one file. Symbols that begin before `stop` belong to it. */
struct window {
    const uint8_t *bytes;
    size_t n, stop;
    size_t done; /* bytes whose symbols have been taken */
};

static void put(struct dataset *d, size_t i, uint32_t id)
{
    if (d->width == 1)
        ((uint8_t *)d->ids)[i] = (uint8_t)id;
    else if (d->width == 2)
        ((uint16_t *)d->ids)[i] = (uint16_t)id;
    else
        ((uint32_t *)d->ids)[i] = id;
}

uint32_t dataset_id(const struct dataset *d, size_t i)
{
    assert(i < d->count);
    if (d->width == 1)
        return ((const uint8_t *)d->ids)[i];
    if (d->width == 2)
        return ((const uint16_t *)d->ids)[i];
    return ((const uint32_t *)d->ids)[i];
}

static enum status changed(const struct source *s, struct error *err)
{
    return fail(err, STATUS_READ, "%s: changed while it was being read; try again when nothing writes to it", s->name);
}

/* Fills err for the symbol at w->bytes[w->done], which cannot be taken. */
static enum status refuse(struct reader *r, const struct source *s, const struct window *w, struct error *err)
{
    struct utf8_count before = r->count;
    utf8_count(&before, w->bytes, w->done);
    const uint8_t *bad = w->bytes + w->done;
    if (r->make)
        return utf8_fail(err, s->name, &before, bad, w->n - w->done, TOKENIZER_ADVICE_NEW);
    return tokenizer_refuse(r->tokenizer, &before, bad, w->n - w->done, s->name, err);
}

/* First pass over characters. */
static enum status scan_window(struct reader *r, const struct source *s, struct window *w, struct error *err)
{
    w->done = charset_scan(r->set, &r->d->count, w->bytes, w->n, w->stop);
    return w->done < w->stop ? refuse(r, s, w, err) : STATUS_OK;
}

/* Second pass. The file may have changed since the first, so nothing that it found is relied on. */
static enum status encode_window(struct reader *r, const struct source *s, struct window *w, struct error *err)
{
    struct dataset *d = r->d;
    size_t at = 0, i = r->filled;
    while (at < w->stop && i < d->count) {
        uint32_t code = w->bytes[at];
        const size_t length = code < 128 ? 1 : utf8_decode(&code, w->bytes + at, w->n - at);
        const uint32_t id_plus_one = length > 0 ? r->id_plus_one[code] : 0;
        if (id_plus_one == 0)
            break;
        put(d, i++, id_plus_one - 1);
        at += length;
    }
    w->done = at;
    r->filled = i;
    if (at >= w->stop)
        return STATUS_OK;
    return r->make || i == d->count ? changed(s, err) : refuse(r, s, w, err);
}

/* The only pass over bytes. */
static enum status copy_window(struct reader *r, const struct source *s, struct window *w, struct error *err)
{
    if (w->stop > r->d->count - r->filled)
        return changed(s, err);
    memcpy((uint8_t *)r->d->ids + r->filled, w->bytes, w->stop);
    r->filled += w->stop;
    w->done = w->stop;
    return STATUS_OK;
}

typedef enum status visit_fn(struct reader *r, const struct source *s, struct window *w, struct error *err);

static enum status visit_source(struct reader *r, struct source *s, visit_fn *visit, struct error *err)
{
    r->count = (struct utf8_count){0};
    for (size_t at = 0; at < s->size;) {
        struct window w = {0};
        enum status status = source_window(s, &w.bytes, &w.n, at, err);
        if (status != STATUS_OK)
            return status;
        const bool last = at + w.n == s->size;
        w.stop = last || r->tokenizer->kind == TOKENIZER_BYTES ? w.n : w.n - 3;
        if (at == 0 && s == r->source)
            r->d->byte_order_mark = w.n >= 3 && memcmp(w.bytes, "\xEF\xBB\xBF", 3) == 0;
        status = visit(r, s, &w, err);
        if (status != STATUS_OK)
            return status;
        hash_add(r->hash, w.bytes, w.done);
        utf8_count(&r->count, w.bytes, w.done);
        at += w.done;
    }
    return STATUS_OK;
}

/* One pass over all files: visits every window, counts line ends and takes the hash. */
static enum status visit_all(struct reader *r, visit_fn *visit, char hash[HASH_TEXT_SIZE], struct error *err)
{
    struct dataset *d = r->d;
    r->hash = hash_begin();
    if (!r->hash)
        return fail(err, STATUS_MEMORY, "%s: no memory to take its hash", r->source[0].name);
    d->crlf = d->lone_cr = d->lf = 0;
    enum status status = STATUS_OK;
    for (size_t f = 0; f < r->n_sources && status == STATUS_OK; f++) {
        status = visit_source(r, &r->source[f], visit, err);
        source_rest(&r->source[f]);
        d->crlf += r->count.crlf;
        d->lone_cr += r->count.cr - r->count.crlf;
        d->lf += r->count.lf - r->count.crlf;
    }
    hash_end(status == STATUS_OK ? hash : NULL, r->hash);
    r->hash = NULL;
    return status;
}

static enum status place_ids(struct reader *r, struct error *err)
{
    struct dataset *d = r->d;
    const size_t V = r->tokenizer->size;
    d->width = V <= 1u << 8 ? 1 : V <= 1u << 16 ? 2 : 4;
    if (d->count > MAX_SYMBOLS)
        return fail(err, STATUS_RANGE, "%s: the text has %zu symbols; at most %llu are supported", r->source[0].name,
                    d->count, (unsigned long long)MAX_SYMBOLS);
    size_t size;
    if (checked_mul(&size, d->count, d->width))
        d->ids = malloc(size);
    if (!d->ids)
        return fail(err, STATUS_MEMORY, "%s: no memory for %zu symbols of %u bytes each", r->source[0].name, d->count,
                    d->width);
    return STATUS_OK;
}

static enum status read_bytes(struct reader *r, struct error *err)
{
    if (r->make)
        tokenizer_make_bytes(r->tokenizer);
    r->d->count = r->d->bytes;
    const enum status status = place_ids(r, err);
    return status == STATUS_OK ? visit_all(r, copy_window, r->d->hash, err) : status;
}

static enum status read_chars(struct reader *r, struct error *err)
{
    struct dataset *d = r->d;
    const char *name = r->source[0].name;
    r->set = calloc(1, sizeof *r->set);
    r->id_plus_one = calloc(UTF8_CODE_POINTS, sizeof *r->id_plus_one);
    if (!r->set || !r->id_plus_one)
        return fail(err, STATUS_MEMORY, "%s: no memory for a table of characters", name);
    char first[HASH_TEXT_SIZE];
    enum status status = visit_all(r, scan_window, first, err);
    if (status == STATUS_OK && r->make)
        status = tokenizer_make_set(r->tokenizer, r->set, name, err);
    if (status == STATUS_OK)
        status = place_ids(r, err);
    if (status != STATUS_OK)
        return status;

    for (size_t id = 0; id < r->tokenizer->size; id++)
        r->id_plus_one[r->tokenizer->symbol[id]] = (uint32_t)id + 1;
    status = visit_all(r, encode_window, d->hash, err);
    if (status != STATUS_OK)
        return status;
    if (r->filled != d->count || strcmp(first, d->hash) != 0)
        return changed(&r->source[0], err);
    return STATUS_OK;
}

static enum status open_sources(struct reader *r, const char *const *paths, size_t n_paths, struct error *err)
{
    size_t from_input = 0;
    for (size_t f = 0; f < n_paths; f++)
        from_input += strcmp(paths[f], "-") == 0;
    if (from_input > 1)
        return fail(err, STATUS_USAGE, "%s: named %zu times, but it can be read only once", SOURCE_STANDARD_INPUT,
                    from_input);
    for (size_t f = 0; f < n_paths; f++) {
        const enum status status = source_open(&r->source[f], paths[f], err);
        if (status != STATUS_OK)
            return status;
        r->n_sources++;
        if (!checked_add(&r->d->bytes, r->d->bytes, r->source[f].size))
            return fail(err, STATUS_RANGE, "%s: the files together are too long", paths[f]);
    }
    if (r->d->bytes == 0 && n_paths == 1)
        return fail(err, STATUS_FORMAT, "%s: empty (0 bytes); name a file that holds text", r->source[0].name);
    if (r->d->bytes == 0)
        return fail(err, STATUS_FORMAT, "%s and the other files are all empty (%zu files, 0 bytes)", r->source[0].name,
                    n_paths);
    return STATUS_OK;
}

static enum status read_text(struct reader *r, const char *const *paths, size_t n_paths, struct error *err)
{
    const enum status status = open_sources(r, paths, n_paths, err);
    if (status != STATUS_OK)
        return status;
    return r->tokenizer->kind == TOKENIZER_BYTES ? read_bytes(r, err) : read_chars(r, err);
}

enum status dataset_open(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths, size_t n_paths,
                         double val_split, struct error *err)
{
    assert(n_paths > 0);
    *d = (struct dataset){0};
    if (!(val_split >= 0 && val_split < 1))
        return fail(err, STATUS_RANGE, "validation share %g: expected at least 0 and below 1", val_split);
    struct reader r = {.d = d, .tokenizer = tokenizer, .make = tokenizer->size == 0};
    r.source = calloc(n_paths, sizeof *r.source);
    if (!r.source)
        return fail(err, STATUS_MEMORY, "%s: no memory to open %zu files", paths[0], n_paths);
    const enum status status = read_text(&r, paths, n_paths, err);
    for (size_t f = 0; f < r.n_sources; f++)
        source_close(&r.source[f]);
    free(r.source);
    free(r.set);
    free(r.id_plus_one);
    if (status != STATUS_OK) {
        dataset_free(d);
        if (r.make)
            tokenizer_free(tokenizer);
        return status;
    }
    d->train = d->count - (size_t)floor((double)d->count * val_split);
    return STATUS_OK;
}

void dataset_free(struct dataset *d)
{
    free(d->ids);
    *d = (struct dataset){0};
}

void dataset_bounds(const struct dataset *d, enum dataset_part part, size_t *begin, size_t *end)
{
    const size_t early = d->fault == DATASET_FAULT_VAL_EARLY ? d->train / 2 : 0;
    *begin = part == DATASET_VAL ? d->train - early : 0;
    *end = part == DATASET_TRAIN ? d->train : d->count;
}

enum status dataset_check(const struct dataset *d, size_t T, struct error *err)
{
    if (d->train > T)
        return STATUS_OK;
    return fail(err, STATUS_RANGE,
                "the text is too short: a context of %zu needs at least %zu symbols in the train part, found %zu (and "
                "%zu for validation); use a longer text or a smaller --block-size",
                T, T + 1, d->train, d->count - d->train);
}

size_t dataset_draw(const struct dataset *d, size_t T, uint64_t seed, uint32_t step, uint32_t row)
{
    assert(T < d->train);
    const struct rng_site site = {.seed = seed, .purpose = RNG_DATA, .step = step, .row = row};
    /* The last target is symbol start + T, so start runs from 0 to train - T - 1. */
    return (size_t)rng_below(&site, 0, (d->fault == DATASET_FAULT_DRAWS_ALL ? d->count : d->train) - T);
}

void dataset_window(const struct dataset *d, uint32_t *inputs, uint32_t *targets, size_t start, size_t T)
{
    assert(start < d->count && T < d->count - start);
    size_t shift = 1;
    if (d->fault == DATASET_FAULT_NOT_SHIFTED)
        shift = 0;
    if (d->fault == DATASET_FAULT_SHIFTED_TWICE && start + T + 1 < d->count)
        shift = 2;
    for (size_t t = 0; t < T; t++) {
        inputs[t] = dataset_id(d, start + t);
        targets[t] = dataset_id(d, start + t + shift);
    }
}
