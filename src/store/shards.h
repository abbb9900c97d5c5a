/* A folder's weights: model.safetensors, or several files and model.safetensors.index.json, which says what tensor is
 * in which. */
#ifndef STORE_SHARDS_H
#define STORE_SHARDS_H

#include <stddef.h>

#include "base/status.h"
#include "io/safetensors.h"
#include "store/tensors.h"

struct shards {
    struct safetensors *file; /* (count) */
    size_t count;
    char *path; /* of model.safetensors, or of the list of files */
};

/* Opens and checks all files. A list is believed in nothing: it names plain files of this folder; every tensor is in
 * exactly the file that it names, none is beside it, and where it gives a total size, that is the sum of all.
 * STATUS_OPEN naming the file that is missing, with advice where the weights are in another format; STATUS_FORMAT,
 * STATUS_MEMORY. On failure s is left empty. */
enum status shards_open(struct shards *s, const char *folder, struct error *err);
void shards_close(struct shards *s);

/* The set for tensors.h. Valid as long as s is. */
struct tensors_set shards_set(const struct shards *s);

/* The types of the tensors' numbers, as "F32" or "F16 and F32", in that order of width; `text` (SHARDS_TYPES_SIZE). */
#define SHARDS_TYPES_SIZE 64
void shards_types(char text[SHARDS_TYPES_SIZE], const struct shards *s);

#endif
