/* One symbol at a time, with a KV cache (one batch row).
 *
 * While prompt and text fit the context, each new symbol costs one row. Past that the window slides by one: learned
 * positions shift under every symbol, so the cache is filled again from the last block_size symbols. A model that was
 * trained without its mask has no cache to keep (an old position would have to change when a new one comes): its
 * window is computed again each time, as its training did. */
#ifndef MODEL_DECODE_H
#define MODEL_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/block.h"
#include "model/gpt.h"

struct decode {
    const struct gpt *model;
    struct work work;
    struct block_cache *cache; /* (L), each with room for block_size positions */
    uint32_t *window;          /* (block_size): the last symbols */
    size_t length;             /* of the window */
    bool recompute;            /* never use what the cache holds */
    struct arena arena;
};

/* STATUS_RANGE, STATUS_MEMORY. The model must outlive d. */
enum status decode_create(struct decode *d, const struct gpt *model, struct team team, struct error *err);
void decode_free(struct decode *d);

/* Forgets everything: the next symbol is the first. */
void decode_reset(struct decode *d);

/* Appends n > 0 symbols (asserted) and returns the logits (V) of the symbol after the last of them, valid until the
 * next call. Of more than block_size symbols the last block_size count. */
const real *decode_append(struct decode *d, const uint32_t *tokens, size_t n);

#endif
