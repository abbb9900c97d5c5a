/* The safetensors format: 8 bytes little-endian header length, a JSON header, raw tensor data.
 * https://github.com/huggingface/safetensors. The reader believes nothing it has not checked. */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/real.h"
#include "base/status.h"
#include "io/file.h"

enum safetensors_type {
    SAFETENSORS_F64,
    SAFETENSORS_F32,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I64,
    SAFETENSORS_OTHER
};

#define SAFETENSORS_MAX_DIMS 8
#define SAFETENSORS_MAX_HEADER ((size_t)100000000) /* bytes: the reference library's own limit */

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
    struct file file;  /* open */
    struct hash *hash; /* of the first `hashed` bytes; NULL once it has been asked for */
    size_t hashed;
    struct safetensors_entry *entry; /* (count), by offset; in the order of files that nopeek writes */
    size_t *by_name;                 /* (count) their indices, in strcmp order of the names */
    size_t count;
    char *metadata; /* the header's __metadata__ object as JSON text, or NULL */
};

/* Opens a file and checks it: regular file, header length (at most 100 MB and within the file), JSON without
 * duplicate keys, nested no deeper than the format, of no more values than any model needs, known fields, types,
 * dimensions (at most 8), products that do not overflow, offsets that fit the shape, follow on one another without gap
 * or overlap and end at the end of the file. Memory is taken for the header alone, after its length has been compared
 * with the file. STATUS_OPEN, STATUS_READ, STATUS_FORMAT naming path, tensor, found and expected; STATUS_MEMORY. On
 * failure s is left empty. */
enum status safetensors_open(struct safetensors *s, const char *path, struct error *err);
void safetensors_close(struct safetensors *s);

/* NULL when there is no such tensor. */
const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name);

/* Reads a floating tensor (F64, F32, F16, BF16) into out (e->count), straight from the file: exactly, but for an F64
 * that a float cannot hold, which is rounded to nearest. STATUS_FORMAT for another type; STATUS_READ when the file has
 * been cut off since it was opened. */
enum status safetensors_read(real *out, struct safetensors *s, const struct safetensors_entry *e, struct error *err);

/* Reads a tensor of any type for the hash alone. STATUS_READ. */
enum status safetensors_skip(struct safetensors *s, const struct safetensors_entry *e, struct error *err);

/* The fingerprint of the whole file, to be asked for once (asserted). The header, and each tensor that was read in the
 * order of `entry`, have been hashed in the memory into which they were read, so that nothing can come between the
 * check and the use; what was not read, or in another order, is read for it now. STATUS_READ. */
enum status safetensors_hash(char out[HASH_TEXT_SIZE], struct safetensors *s, struct error *err);

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
