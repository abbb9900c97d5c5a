/* What a person sees of a training run. */
#ifndef CLI_TRAIN_VIEW_H
#define CLI_TRAIN_VIEW_H

#include <stddef.h>

#include "cli/terminal.h"
#include "model/config.h"
#include "train/trainer.h"

struct train_view {
    struct terminal out, err; /* results; notes and progress */
    const struct config *config;
    size_t steps;
    double *entropy_before, *score_before; /* (L,H): at the last evaluation, for what changed since */
    bool looked;
};

/* STATUS_MEMORY. */
enum status train_view_open(struct train_view *v, const struct config *c, size_t steps, struct error *err);
void train_view_close(struct train_view *v);

/* The trainer's callbacks, drawing on v. */
struct trainer_events train_view_events(struct train_view *v);

#endif
