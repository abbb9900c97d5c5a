/* Folders as transformers' save_pretrained writes them, made without it. */
#ifndef SUPPORT_FOREIGN_H
#define SUPPORT_FOREIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "model/gpt.h"

enum foreign_type { FOREIGN_F32, FOREIGN_F16, FOREIGN_BF16, FOREIGN_F64, FOREIGN_I8, FOREIGN_TYPES };

struct foreign {
    const char *dir;
    enum foreign_type type;
    bool bare;             /* GPT2Model: names without "transformer." */
    bool with_head;        /* a tied model's output matrix is written too */
    bool with_masks;       /* the mask buffers of older versions */
    size_t shards;         /* 0: model.safetensors; else so many files and the list of them */
    const char *tokenizer; /* the text of tokenizer.json, or NULL: none */
};

/* A model whose numbers every type holds exactly, biases included. */
void foreign_model(struct gpt *g, const struct config *c);

/* Makes the folder and writes everything into it. */
void foreign_write(const struct foreign *f, const struct gpt *g);

/* Changes one key of a JSON file of the folder: `path` is keys joined by blanks; value NULL removes. */
void foreign_change(const char *file, const char *path, json_t *value);

/* tokenizer.json over single characters, ids in the order of the text; entries of `other` (JSON members, or "") come
 * beside them. */
const char *foreign_chars(const char *const *characters, size_t n, const char *other);

#endif
