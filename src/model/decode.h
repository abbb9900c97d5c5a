/* One symbol at a time, with a KV cache.
 *
 *     decode_append(d, prompt, n);     logits (V)
 *     decode_fork(d, rows);            several texts go on from there ...
 *     decode_step(d, tokens);          ... each with a symbol of its own: logits (rows,V)
 *     decode_drop(d, row);             one of them has ended
 *
 * While prompt and text fit the context, each new symbol costs one row. Past that the window slides by one: learned
 * positions shift under every symbol, so the cache is filled again from the last block_size symbols. A model that was
 * trained without its mask has no cache to keep (an old position would have to change when a new one comes): its
 * window is computed again each time, as its training did.
 *
 * Of a prompt or a window only the last symbol's logits are worked out. A row's logits are the same bits however many
 * rows there are beside it, and on any number of threads while the context is not full. */
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
    struct block_cache *cache; /* (L), each (room,block_size,C) */
    struct block_cache *view;  /* (L): the same from the first row of a pass on */
    uint32_t *window;          /* (room,block_size): the last symbols of each row */
    real *logits;              /* (room,V): of rows that were computed one after another */
    size_t room, rows;         /* texts: the most, and now */
    size_t length;             /* of the windows */
    bool recompute;            /* never use what the cache holds */
    struct arena arena;
};

/* Room for `rows` > 0 texts at once (asserted). STATUS_RANGE, STATUS_MEMORY. The model must outlive d. */
enum status decode_create(struct decode *d, const struct gpt *model, size_t rows, struct team team, struct error *err);
void decode_free(struct decode *d);

/* Forgets everything: the next symbol is the first of one text. */
void decode_reset(struct decode *d);

/* Appends n > 0 symbols to the one text there is (asserted) and returns the logits (V) of the symbol after the last of
 * them, valid until the next call. Of more than block_size symbols the last block_size count. */
const real *decode_append(struct decode *d, const uint32_t *tokens, size_t n);

/* Makes `rows` texts, at most the room (asserted), of the one there is (asserted): all begin alike. */
void decode_fork(struct decode *d, size_t rows);

/* Appends one symbol to each row, tokens (rows), and returns the logits (rows,V) of what follows, valid until the next
 * call. */
const real *decode_step(struct decode *d, const uint32_t *tokens);

/* Ends one of at least two rows (asserted): the last one takes its number. */
void decode_drop(struct decode *d, size_t row);

#endif
