/* A saved model as commands meet it: RUN resolved and read, what its trainer_state.json says, and records of its
 * metrics.jsonl. */
#ifndef CLI_SAVED_H
#define CLI_SAVED_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"
#include "store/checkpoint.h"
#include "store/state.h"
#include "text/dataset.h"

struct saved {
    struct checkpoint checkpoint;
    bool has_state; /* false for a model that comes from elsewhere; then `state` is empty */
    struct state state;
    char *run; /* the run directory, or NULL for a checkpoint folder that stands alone */
};

/* Reads RUN: a run directory (its highest complete step) or one checkpoint folder; no optimizer state. Errors as
 * run_find, checkpoint_read and state_from_json. On failure nothing is left open. */
enum status saved_open(struct saved *s, const char *run, struct error *err);
void saved_close(struct saved *s);

/* The model was trained while it could see the future. */
bool saved_leaky(const struct saved *s);

/* One line on stderr when saved_leaky: what its figures are worth. */
void saved_warn(const struct saved *s);

/* The share of the text that validates, as the run was trained; `otherwise` when its settings do not say. */
double saved_val_split(const struct saved *s, double otherwise);

/* Opens the text that the run was trained on, split so. STATUS_USAGE: the run (named `run`) does not say which that is,
 * or it was standard input. STATUS_FORMAT: the text has changed since. Errors of dataset_open. On failure nothing is
 * left open, and the message ends in `advice` unless that is NULL: "name it as TEXT". */
enum status saved_text(struct dataset *d, struct saved *s, const char *run, double val_split, const char *advice,
                       struct error *err);

/* Is the file that --option names nothing of the run's: no file of the checkpoint, not the log, none of the texts? NULL
 * for output is not. STATUS_USAGE otherwise: writing it would destroy what was read; STATUS_MEMORY. */
enum status saved_spares(const struct saved *s, const char *output, const char *option, struct error *err);

/* The last record of this kind ("step", "eval") in metrics.jsonl that is not later than the checkpoint, as a new
 * reference; NULL when there is none, or no log. Lines that are no JSON objects are passed over. A log that is there
 * and cannot be read is an error. STATUS_OPEN, STATUS_READ, STATUS_MEMORY. */
enum status saved_record(json_t **record, const struct saved *s, const char *kind, struct error *err);

/* All of them, as a new array, in order; empty where saved_record gives NULL. Errors as saved_record. */
enum status saved_records(json_t **records, const struct saved *s, const char *kind, struct error *err);

#endif
