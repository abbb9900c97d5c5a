/* What `nopeek train` says before it trains: the plan, and with --dry-run what it will cost. */
#ifndef CLI_TRAIN_PLAN_H
#define CLI_TRAIN_PLAN_H

#include "base/status.h"
#include "cli/train_session.h"
#include "train/trainer.h"

/* Text, model, schedule, machine and memory, as notes of the session; no memory has been taken for it yet.
 * STATUS_RANGE, STATUS_MEMORY. */
enum status train_plan_show(struct train_session *s, const struct trainer_settings *settings, struct error *err);

/* The time that the run will take, measured with the session's trainer (which is of no use afterwards), and the room
 * that its checkpoints will. STATUS_NONFINITE, STATUS_MEMORY. */
enum status train_plan_rehearse(struct train_session *s, struct error *err);

#endif
