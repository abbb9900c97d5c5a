/* Reading a run that may be training at this moment. */
#ifndef STORE_RUN_READ_H
#define STORE_RUN_READ_H

#include <stdbool.h>

#include "base/status.h"
#include "store/checkpoint.h"

/* Finds the checkpoint that RUN means (run_find) and reads it (checkpoint_read); c->path is its folder. A folder that
 * is removed or replaced while it is read is no failure of the run's: then RUN is looked up anew, and the newer
 * checkpoint read. A checkpoint that was found in a run and cannot be read is an error which also names the step before
 * it. Errors as run_find and checkpoint_read. On failure c is left empty. */
enum status run_read(struct checkpoint *c, const char *run, bool with_optimizer, struct error *err);

#endif
