/* The run directory: committed checkpoints step-NNNNNN, the links latest and best, metrics.jsonl. */
#ifndef STORE_RUN_H
#define STORE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The folder's name of a step: "step-" and the number with six digits or more, "step-000500". Other spellings of a
 * number name no step. */
#define RUN_STEP_NAME_SIZE 32
void run_step_name(char out[RUN_STEP_NAME_SIZE], size_t step);

/* mkdir -p: a folder that is there will do. STATUS_USAGE for an empty name, STATUS_WRITE, STATUS_MEMORY. */
enum status run_make_folder(const char *dir, struct error *err);

/* Makes the directory (parents too) ready for a new run. One that already holds a run is refused with advice
 * (--resume, --force, another -o); with force its checkpoints, links and metrics are moved aside, into
 * DIR/old-1 (then old-2, ...). A directory that holds other things is kept as it is: only a run's own names are
 * touched. A checkpoint folder is refused, as nothing inside it would be found again. A write test is made, of a
 * symbolic link too. STATUS_USAGE, STATUS_WRITE, STATUS_MEMORY. */
enum status run_create(const char *dir, bool force, struct error *err);

/* What run_create would refuse in a folder that is there, before anything is read or written for the run. STATUS_USAGE,
 * STATUS_READ, STATUS_MEMORY. */
enum status run_may_create(const char *dir, bool force, struct error *err);

/* A run directory that is being written into: the folder itself, whatever its path leads to later. A zeroed one holds
 * nothing. */
struct run_hold {
    int fd_plus_one; /* of the open folder; while it is open its number is nobody else's */
};
enum status run_hold_take(struct run_hold *h, const char *dir, struct error *err);
void run_hold_release(struct run_hold *h);

/* STATUS_WRITE when dir no longer leads to the folder that is held: it was moved, deleted or replaced, and what is
 * there now is another's. */
enum status run_hold_check(const struct run_hold *h, const char *dir, struct error *err);

/* Bytes that may still be written on the disk that dir lies on. False where the system does not say. */
bool run_room(uintmax_t *bytes, const char *dir);

/* Resolves RUN to a checkpoint folder (*folder is allocated): a folder with config.json is itself the
 * checkpoint; in a run directory it is the highest complete step-NNNNNN (trainer_state.json and
 * model.safetensors present); links are not trusted to say which. RUN/latest and RUN/best themselves give
 * RUN/step-NNNNNN; where they are links of a run that lead to anything but a complete step of it, by its bare name,
 * they are refused. STATUS_OPEN, STATUS_FORMAT (no checkpoint yet), STATUS_MEMORY. */
enum status run_find(char **folder, const char *run, struct error *err);

/* The highest complete step below that of a checkpoint's folder in the same run, allocated. NULL when there is none,
 * the folder's name is no step, or memory is refused. */
char *run_step_before(const char *folder);

/* Points latest, and best when best_step is not STATE_NO_STEP (state.h) and is there, at their steps. Files or folders
 * of these names are moved aside (latest.old). STATUS_WRITE, STATUS_MEMORY. */
enum status run_link(const char *dir, size_t latest_step, size_t best_step, struct error *err);

/* Removes the oldest complete steps until `keep` remain (0 keeps all), never latest_step or best_step. STATUS_OPEN,
 * STATUS_WRITE, STATUS_MEMORY. */
enum status run_prune(const char *dir, size_t keep, size_t latest_step, size_t best_step, struct error *err);

/* Before resuming from `step`: temporary leftovers are removed and a write test is made, as by run_create. Checkpoints
 * of higher steps, left from an abandoned timeline, are moved aside (step-NNNNNN.old). Returns in *moved how many. Then
 * latest points at `step`, and best at best_step when that is a complete step of this run (STATE_NO_STEP: none is
 * known); a best whose target is gone is removed. So links that a save was killed before making are made here.
 * STATUS_OPEN, STATUS_WRITE, STATUS_MEMORY. */
enum status run_rewind(const char *dir, size_t step, size_t best_step, size_t *moved, struct error *err);

/* "DIR/step-000500" of a checkpoint folder path gives the run directory *run = DIR (allocated), NULL when the
 * folder's name is no step. STATUS_MEMORY. */
enum status run_of_checkpoint(char **run, const char *folder, struct error *err);

#endif
