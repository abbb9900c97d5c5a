/* A saved model as commands meet it: RUN resolved and read, and what its trainer_state.json and metrics.jsonl say.
 * The keys of both files that the command line reads stand in saved.c and nowhere else. */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "store/checkpoint.h"

struct saved {
    struct checkpoint checkpoint;
    char *run; /* the run directory, or NULL for a checkpoint folder that stands alone */
};

/* Reads RUN: a run directory (its highest complete step) or one checkpoint folder; no optimizer state. Errors as
 * run_find and checkpoint_read. On failure nothing is left open. */
enum status saved_open(struct saved *s, const char *run, struct error *err);
void saved_close(struct saved *s);

/* The model was trained while it could see the future. */
bool saved_leaky(const struct saved *s);

/* One line on stderr when saved_leaky: what its figures are worth. */
void saved_warn(const struct saved *s);

/* False, with *out untouched, when the state does not say. */
bool saved_step(const struct saved *s, size_t *out);
bool saved_best(const struct saved *s, size_t *step, double *loss);
bool saved_val_split(const struct saved *s, double *out);

/* The text it was trained on: its paths as a JSON array of strings, and its hash; NULL when the state does not say.
 * Borrowed. */
const json_t *saved_text_paths(const struct saved *s);
const char *saved_text_hash(const struct saved *s);

/* The last record of this kind ("step", "eval") in metrics.jsonl that is not later than the checkpoint, as a new
 * reference; NULL when there is none. Lines that are no JSON objects are passed over. */
json_t *saved_record(const struct saved *s, const char *kind);

#endif
