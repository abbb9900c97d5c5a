/* What trainer_state.json says of a run at a checkpoint, beside the numbers in the tensors. */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/status.h"

#define STATE_NO_STEP ((size_t)-1)
#define STATE_MOST_STEPS ((size_t)4294967295) /* as --steps: random draws count steps in 32 bits */

struct state {
    size_t step;      /* updates done */
    size_t best_step; /* STATE_NO_STEP before the first evaluation */
    double best_loss; /* validation loss there; NaN likewise */
    double seconds;   /* of training so far */
    bool leaky;       /* trained, at any time, with a leak that was allowed: it stays marked */
    char *check;      /* the last leak verdict in words, or NULL */
    char **text;      /* (n_texts) paths as given */
    size_t n_texts;
    char text_hash[HASH_TEXT_SIZE];
    size_t text_bytes, text_symbols;
    json_t *settings; /* the command's settings, an object */
};

/* A new reference, NULL when memory is refused. */
json_t *state_to_json(const struct state *s);

/* Reads what state_to_json wrote (other keys are let be); `name` begins messages. STATUS_FORMAT: a key that is
 * missing, not of its type, or out of range (no more than STATE_MOST_STEPS steps, no best step after the last, no more
 * symbols than bytes, a hash of 32 hex digits). The verdict is made one line. STATUS_MEMORY. On failure s is left
 * empty. */
enum status state_from_json(struct state *s, const json_t *json, const char *name, struct error *err);

/* Copies paths in, the old ones freed. STATUS_MEMORY. */
enum status state_set_text(struct state *s, const char *const *paths, size_t n, struct error *err);

/* Replaces the verdict. STATUS_MEMORY. */
enum status state_set_check(struct state *s, const char *verdict, struct error *err);

void state_free(struct state *s);

/* A path as JSON can hold it. One that is no UTF-8 gets ? for its odd bytes: resuming will not find it, and asks for
 * it. NULL when memory is refused. */
json_t *state_path_json(const char *path);

#endif
