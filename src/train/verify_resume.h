/* Is resuming exact? The same updates twice: straight through, and in two halves of which the second goes on from what
 * the first has saved, read back from disk. What comes out must be the same bits. The halves also evaluate, check and
 * save on the way where the straight run does not, so that looking is shown to change nothing either. */
#ifndef TRAIN_VERIFY_RESUME_H
#define TRAIN_VERIFY_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "train/trainer.h"

struct verify_resume {
    size_t first, half, last; /* steps: where both begin, where the halves meet, where both end */
    size_t numbers;           /* weights and moments compared */
    size_t records;           /* step records of metrics.jsonl compared, all but their rates */
    bool same;
    char difference[256]; /* the first one, in words */
};

/* Trains `steps` >= 2 updates from t->state->step on, twice, in folders of their own inside the existing, empty folder
 * `dir`. t comes from trainer_create, with its moments; what it trains afterwards is of no use. Settings of looking and
 * saving are replaced. STATUS_USAGE: the schedule has fewer steps left; else as trainer_run and checkpoint_read. */
enum status verify_resume(struct verify_resume *v, struct trainer *t, const char *dir, size_t steps, struct error *err);

#endif
