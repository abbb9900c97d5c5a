/* Any bytes as a .safetensors file. What opens is within the file, reads, and hashes to its bytes; what floats it holds
 * survive being written by nopeek and read again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "io/safetensors.h"

static void same_numbers(const real *a, const real *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fuzz_require(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])), "place %zu: %g and %g", i, (double)a[i],
                     (double)b[i]);
}

/* Writes `count` items and reads them back. */
static void write_again(const struct safetensors_item *items, size_t count)
{
    struct error err;
    struct safetensors s;
    uint8_t *bytes;
    size_t size;
    fuzz_clear(&err);
    fuzz_require(safetensors_build(&bytes, &size, items, count, &err) == STATUS_OK, "%s", err.message);
    const char *path = fuzz_file("again", bytes, size);
    free(bytes);
    fuzz_require(safetensors_open(&s, path, &err) == STATUS_OK, "%s", err.message);
    fuzz_require(s.count == count, "%zu tensors, %zu written", s.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct safetensors_entry *e = safetensors_find(&s, items[i].name);
        fuzz_require(e && e->n_dims == items[i].n_dims && e->type == SAFETENSORS_F32, "%s", items[i].name);
        fuzz_require(memcmp(e->shape, items[i].shape, e->n_dims * sizeof e->shape[0]) == 0, "%s", items[i].name);
        real *read = malloc((e->count + 1) * sizeof *read);
        fuzz_require(safetensors_read(read, &s, e, &err) == STATUS_OK, "%s", err.message);
        same_numbers(read, items[i].values, e->count);
        free(read);
    }
    safetensors_close(&s);
}

static void read_all(struct safetensors *s, const uint8_t *bytes, size_t n)
{
    struct safetensors_item *items = calloc(s->count + 1, sizeof *items);
    size_t count = 0, at = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct safetensors_entry *e = &s->entry[i];
        struct error err;
        fuzz_require(e->begin <= n && e->size <= n - e->begin && e->begin >= at, "'%s' lies outside", e->name);
        at = e->begin + e->size;
        fuzz_require(safetensors_find(s, e->name) == e, "'%s' is not found", e->name);
        /* A type of 4 bits is the narrowest. */
        fuzz_require(e->count <= 2 * n || e->size == 0, "%zu numbers in %zu bytes", e->count, e->size);
        real *values = malloc(((e->size > 0 ? e->count : 0) + 1) * sizeof *values);
        fuzz_clear(&err);
        const enum status status = safetensors_read(values, s, e, &err);
        if (status == STATUS_OK) {
            items[count] = (struct safetensors_item){.name = e->name, .n_dims = e->n_dims, .values = values};
            memcpy(items[count++].shape, e->shape, sizeof e->shape);
            continue;
        }
        fuzz_refused(status, &err);
        free(values);
    }
    char hash[HASH_TEXT_SIZE], expected[HASH_TEXT_SIZE];
    struct error err;
    hash_bytes(expected, bytes, n);
    fuzz_require(safetensors_hash(hash, s, &err) == STATUS_OK, "%s", err.message);
    fuzz_require(strcmp(hash, expected) == 0, "%s, the bytes give %s", hash, expected);
    write_again(items, count);
    for (size_t i = 0; i < count; i++)
        free((void *)items[i].values);
    free(items);
}

int fuzz_safetensors(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct safetensors s;
    fuzz_clear(&err);
    const enum status status = safetensors_open(&s, fuzz_file("f", bytes, n), &err);
    if (status == STATUS_OK) {
        fuzz_accepted();
        read_all(&s, bytes, n);
        safetensors_close(&s);
    } else {
        fuzz_refused(status, &err);
        fuzz_require(!s.entry && !s.path && !s.hash && s.count == 0, "something is left");
    }
    return 0;
}
