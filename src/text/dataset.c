#include "text/dataset.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/encoder.h"
#include "text/source.h"

/* All files in order, once. */
struct reader {
    const struct dataset_watch *watch;
    struct dataset *d;
    struct encoder encoder;
    struct hash *hash;
    uint64_t total, read; /* bytes of all files (0: unknown), and read so far */
};

uint32_t dataset_id(const struct dataset *d, size_t i)
{
    assert(i < d->count);
    if (d->width == 1)
        return ((const uint8_t *)d->ids)[i];
    if (d->width == 2)
        return ((const uint16_t *)d->ids)[i];
    return ((const uint32_t *)d->ids)[i];
}

/* The symbols that begin in a piece; *done is the bytes that were taken. */
static enum status read_piece(struct reader *r, size_t *done, struct utf8_count *count, const struct source *s,
                              const uint8_t *bytes, size_t n, struct error *err)
{
    const size_t stop = s->ended ? n : n - encoder_overlap(&r->encoder);
    const enum status status = encoder_add(&r->encoder, done, bytes, n, stop, s->name, err);
    if (status != STATUS_OK)
        return status;
    hash_add(r->hash, bytes, *done);
    utf8_count(count, bytes, *done);
    if (*done < stop)
        return encoder_refuse(&r->encoder, count, bytes + *done, n - *done, s->name, err);
    r->read += *done;
    if (r->watch)
        r->watch->progress(r->watch->context, r->read, r->total);
    return STATUS_OK;
}

static enum status read_pieces(struct reader *r, struct source *s, bool first, struct error *err)
{
    struct dataset *d = r->d;
    struct utf8_count count = {0};
    const uint8_t *bytes;
    size_t n, done = 0;
    enum status status;
    while ((status = source_next(s, &bytes, &n, done, err)) == STATUS_OK && n > 0) {
        if (first && count.bytes == 0)
            d->byte_order_mark = n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0;
        status = read_piece(r, &done, &count, s, bytes, n, err);
        if (status != STATUS_OK)
            return status;
    }
    d->bytes += count.bytes;
    d->crlf += count.crlf;
    d->lone_cr += count.cr - count.crlf;
    d->lf += count.lf - count.crlf;
    return status;
}

static enum status read_file(struct reader *r, const char *path, bool first, struct error *err)
{
    struct source s;
    enum status status = source_open(&s, path, err);
    if (status != STATUS_OK)
        return status;
    status = read_pieces(r, &s, first, err);
    source_close(&s);
    return status;
}

/* What is missing or no file is told before hours go into the files before it. */
static enum status look_at_all(struct reader *r, const char *const *paths, size_t n_paths, struct error *err)
{
    size_t from_input = 0;
    bool known = true;
    for (size_t f = 0; f < n_paths; f++)
        from_input += strcmp(paths[f], "-") == 0;
    if (from_input > 1)
        return fail(err, STATUS_USAGE, "%s: named %zu times, but it can be read only once", SOURCE_STANDARD_INPUT,
                    from_input);
    for (size_t f = 0; f < n_paths; f++) {
        uint64_t size;
        const enum status status = source_look(&size, paths[f], err);
        if (status != STATUS_OK)
            return status;
        known = known && size > 0;
        r->total += size;
    }
    if (!known)
        r->total = 0;
    return STATUS_OK;
}

static enum status check_some(const struct dataset *d, const char *const *paths, size_t n_paths, struct error *err)
{
    const char *name = strcmp(paths[0], "-") == 0 ? SOURCE_STANDARD_INPUT : paths[0];
    if (d->bytes > 0)
        return STATUS_OK;
    if (n_paths == 1)
        return fail(err, STATUS_FORMAT, "%s: empty (0 bytes); name a file that holds text", name);
    return fail(err, STATUS_FORMAT, "%s and the other files are all empty (%zu files, 0 bytes)", name, n_paths);
}

static enum status read_all(struct reader *r, const char *const *paths, size_t n_paths, struct error *err)
{
    enum status status = look_at_all(r, paths, n_paths, err);
    for (size_t f = 0; f < n_paths && status == STATUS_OK; f++)
        status = read_file(r, paths[f], f == 0, err);
    if (status == STATUS_OK)
        status = check_some(r->d, paths, n_paths, err);
    return status == STATUS_OK ? encoder_end(&r->encoder, paths[0], err) : status;
}

/* What the reader made belongs to the dataset from here on. */
static void take(struct dataset *d, struct encoder *e)
{
    d->ids = e->ids;
    d->width = e->width;
    d->count = e->count;
    e->ids = NULL;
}

static enum status read_text(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths, size_t n_paths,
                             const struct dataset_watch *watch, struct error *err)
{
    struct reader r = {.d = d, .watch = watch};
    enum status status = encoder_begin(&r.encoder, tokenizer, err);
    if (status == STATUS_OK && !(r.hash = hash_begin()))
        status = fail(err, STATUS_MEMORY, "%s: no memory to take its hash", paths[0]);
    if (status == STATUS_OK)
        status = read_all(&r, paths, n_paths, err);
    if (status == STATUS_OK)
        take(d, &r.encoder);
    if (r.hash)
        hash_end(d->hash, r.hash);
    encoder_free(&r.encoder);
    return status;
}

enum status dataset_open_watched(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths,
                                 size_t n_paths, double val_split, const struct dataset_watch *watch, struct error *err)
{
    assert(n_paths > 0);
    const bool make = tokenizer->size == 0;
    *d = (struct dataset){0};
    if (!(val_split >= 0 && val_split < 1))
        return fail(err, STATUS_RANGE, "validation share %g: expected at least 0 and below 1", val_split);
    const enum status status = read_text(d, tokenizer, paths, n_paths, watch, err);
    if (status != STATUS_OK) {
        dataset_free(d);
        if (make)
            tokenizer_free(tokenizer);
        return status;
    }
    d->train = d->count - (size_t)floor((double)d->count * val_split);
    return STATUS_OK;
}

enum status dataset_open(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths, size_t n_paths,
                         double val_split, struct error *err)
{
    return dataset_open_watched(d, tokenizer, paths, n_paths, val_split, NULL, err);
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
