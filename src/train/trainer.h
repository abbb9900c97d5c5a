/* The training loop: updates, logging, evaluation, leak checks, checkpoints. Everything it shows goes out through
 * callbacks; everything it keeps goes into the run directory. */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "diag/leak.h"
#include "io/metrics.h"
#include "model/gpt.h"
#include "model/optimizer.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "store/state.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "train/gpt_learner.h"
#include "train/schedule.h"
#include "train/watching.h"

struct trainer_settings {
    struct schedule schedule;
    size_t batch_size, grad_accum;
    double weight_decay, beta1, beta2;
    double grad_clip; /* largest gradient norm; 0 is off */
    uint64_t seed;
    struct team team;
    size_t eval_interval; /* steps between evaluations; 0: only at the end */
    size_t eval_windows;  /* in the sample of each part */
    size_t log_interval;  /* steps between step records */
    size_t save_every;    /* steps between checkpoints beside those at evaluations; 0: none */
    size_t keep;          /* checkpoints to keep, of which latest and best are never removed; 0: all */
    size_t stop_after;    /* save after this step and end, the schedule unchanged; 0: off */
    double max_time;      /* seconds after which to save and end; 0: off */
    size_t sample_size;   /* symbols of the sample written at each evaluation */
    bool allow_leak;
};

/* STATUS_USAGE or STATUS_RANGE naming the setting. */
enum status trainer_check_settings(const struct trainer_settings *s, struct error *err);

/* After an update. */
struct trainer_step {
    size_t step; /* updates done */
    double loss, lr, grad_norm;
    double tokens_per_s; /* since the last report */
    double seconds_left; /* of the whole run, at that rate */
    bool logged;         /* it is a record of metrics.jsonl */
};

/* After an evaluation. */
struct trainer_eval {
    size_t step;
    double train_loss, val_loss;       /* NaN where a part is too short */
    const double *entropy, *max_score; /* (L,H), of the last training batch; NULL before the first step */
    const struct leak_report *leak;
    const char *sample; /* UTF-8, sample_size symbols */
    size_t sample_bytes;
    bool best; /* the lowest validation loss so far */
};

struct trainer_events {
    void *context;
    void (*step)(void *context, const struct trainer_step *s);
    void (*eval)(void *context, const struct trainer_eval *e);
    void (*saved)(void *context, size_t step, const char *dir);
    void (*note)(void *context, const char *line);
    bool (*interrupted)(void *context); /* asked after each update; true: save and end */
};

/* Fields down to `events` are the caller's, set before trainer_create and alive until trainer_free. */
struct trainer {
    struct trainer_settings settings;
    const struct dataset *data;
    const struct tokenizer *tokenizer;
    struct gpt *model;
    struct state *state; /* step 0 for a new run; updated as training goes */
    const char *dir;     /* the run directory */
    bool resumed;        /* dir holds a checkpoint of state->step, from which this goes on */
    struct trainer_events events;

    struct optimizer optimizer; /* moments zero for a new run, else filled after trainer_create */
    struct work work;
    struct gpt_learner learner;
    struct arena arena;
    struct metrics metrics;
    struct leak_report leak;
    struct watching watching; /* while trainer_run trains */
    char *sample;
    struct run_hold hold;  /* on dir, while trainer_run trains */
    size_t saved;          /* the last step that is on disk */
    double started;        /* clock when trainer_run began */
    double seconds_before; /* trained before that */
    double check_seconds;  /* spent on leak checks since trainer_create */
};

/* Bytes that trainer_create will take beside the model. STATUS_RANGE. */
enum status trainer_measure(size_t *bytes, const struct config *c, const struct trainer_settings *s, struct error *err);

/* Checks settings and text against the model, takes all memory. STATUS_USAGE, STATUS_RANGE, STATUS_MEMORY. */
enum status trainer_create(struct trainer *t, struct error *err);
void trainer_free(struct trainer *t);

/* The full leak check, before anything is written: t->leak holds the verdict. Rows of the batch, the decoder and the
 * windows drawn from the text are checked too. STATUS_LEAK with what leads to it in the message when something is found
 * that is not allowed; what is allowed marks the state as leaky for good. */
enum status trainer_check(struct trainer *t, struct error *err);

/* One optimizer update: gradient, norm, clipping, AdamW; state->step counts it. STATUS_NONFINITE. */
enum status trainer_update(struct trainer *t, const struct learner *learner, struct trainer_step *r, struct error *err);

/* Does an evaluation follow update `step`? */
bool trainer_evaluates(const struct trainer_settings *s, size_t step);

/* The update after which training ends: of the schedule, or stop_after. */
size_t trainer_last_step(const struct trainer_settings *s);

/* Trains from state->step to the end, in the existing run directory. STATUS_NONFINITE at the first loss or gradient
 * that is not finite (names the step; the last checkpoint stays, and none is written of weights that give no finite
 * loss), STATUS_LEAK when an evaluation finds one, STATUS_INTERRUPTED after saving, STATUS_WRITE (also
 * when dir leads to another folder at a save than it did at the start), STATUS_MEMORY. */
enum status trainer_run(struct trainer *t, struct error *err);

#endif
