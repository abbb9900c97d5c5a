/* The safetensors format: 8 bytes little-endian header length, a JSON header, raw tensor data.
 * https://github.com/huggingface/safetensors. The reader believes nothing it has not checked. */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "io/mapped.h"

enum safetensors_type {
    SAFETENSORS_F64,
    SAFETENSORS_F32,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I64,
    SAFETENSORS_OTHER
};

#define SAFETENSORS_MAX_DIMS 8

struct safetensors_entry {
    char *name;
    enum safetensors_type type;
    size_t n_dims;
    size_t shape[SAFETENSORS_MAX_DIMS];
    size_t count; /* product of shape, checked */
    size_t begin; /* byte offset from the start of the file */
    size_t size;  /* bytes: count times the type's size */
};

struct safetensors {
    char *path;
    struct mapped file;              /* the whole file */
    struct safetensors_entry *entry; /* (count), by offset; in the order of files that nopeek writes */
    size_t *by_name;                 /* (count) their indices, in strcmp order of the names */
    size_t count;
    char *metadata; /* the header's __metadata__ object as JSON text, or NULL */
};

/* Maps and checks a file: regular file, header length (at most 100 MB and within the file), JSON without
 * duplicate keys, nested no deeper than the format, known fields, types, dimensions (at most 8), products that do
 * not overflow, offsets that fit the shape, follow on one another without gap or overlap and end at the end of
 * the file. STATUS_OPEN, STATUS_FORMAT naming path, tensor, found and expected; STATUS_MEMORY. On failure s is
 * left empty. */
enum status safetensors_open(struct safetensors *s, const char *path, struct error *err);
void safetensors_close(struct safetensors *s);

/* NULL when there is no such tensor. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);

/* Converts a floating tensor (F64, F32, F16, BF16) to out (e->count): exactly, but for an F64 that a float
 * cannot hold, which is rounded to nearest. STATUS_FORMAT for another type. */
enum status safetensors_read(real *out, const struct safetensors *s, const struct safetensors_entry *e,
                             struct error *err);

/* One tensor to write: always as F32. values NULL writes zeros. */
struct safetensors_item {
    const char *name;
    size_t n_dims;
    size_t shape[SAFETENSORS_MAX_DIMS];
    const real *values;
};

/* The whole file as bytes (free them): metadata {"format":"pt"}, header padded with blanks so that data starts
 * at a multiple of 64, tensors in the given order. Same items give same bytes. STATUS_MEMORY, STATUS_RANGE
 * (a size that overflows, a name used twice, a name that is no UTF-8). */
enum status safetensors_build(uint8_t **bytes, size_t *size, const struct safetensors_item *items, size_t n,
                              struct error *err);

#endif
