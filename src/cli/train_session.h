/* What `nopeek train` works on: model, text, vocabulary and settings, new or from another run. */
#ifndef CLI_TRAIN_SESSION_H
#define CLI_TRAIN_SESSION_H

#include "base/status.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_view.h"
#include "store/checkpoint.h"
#include "store/run_lock.h"
#include "store/state.h"
#include "text/dataset.h"
#include "train/trainer.h"

/* Everything a run holds, released in one place. */
struct train_session {
    struct options *options;
    struct train_options *t;
    struct checkpoint from; /* of --resume or --init-from; the model and tokenizer live here in any case */
    struct dataset data;
    struct state state;
    struct trainer trainer;
    struct train_view view;
    struct terminal notes;
    struct run_lock lock; /* on the run directory, from before anything in it is moved to the end */
};

/* Reads what --resume or --init-from name and the text, settles every setting that was left open, and makes the
 * model. Nothing is written. `options` and `t` are set before. STATUS_USAGE, STATUS_OPEN, STATUS_READ, STATUS_FORMAT,
 * STATUS_RANGE, STATUS_MEMORY, as what it reads says. */
enum status train_session_load(struct train_session *s, struct error *err);
void train_session_free(struct train_session *s);

#endif
