/* The trainer's watch over its attention heads: diag/head_watch.h, fed by diag/head_probe.h, told to the log and to a
 * person. Training's bits do not depend on it. */
#ifndef TRAIN_WATCHING_H
#define TRAIN_WATCHING_H

#include <stddef.h>

#include "base/status.h"
#include "diag/head_probe.h"
#include "diag/head_watch.h"
#include "io/metrics.h"
#include "model/gpt.h"
#include "train/gpt_learner.h"

#define WATCHING_PROBE 10 /* steps between probes */

struct watching {
    struct head_watch watch; /* its findings are of the last call of watching_step or watching_maps */
    struct head_probe probe;
};

/* Before the first update, or the first after resuming. STATUS_RANGE, STATUS_MEMORY; on failure nothing is left. */
enum status watching_open(struct watching *w, const struct gpt *g, struct error *err);
void watching_close(struct watching *w);

/* Before a resumed run goes on: what DIR/metrics.jsonl has of the steps before, and of what was said. A log that is not
 * there, or whose records are of another shape, says nothing. STATUS_OPEN, STATUS_READ, STATUS_MEMORY. */
enum status watching_recall(struct watching *w, const char *dir, struct error *err);

/* After update `step`, whose loss and rate these were, and after gpt_learner_attention. */
void watching_step(struct watching *w, const struct gpt_learner *l, size_t step, double loss, double lr);

/* At an evaluation: compares the heads' maps of the first symbols of the text. Weights that give no map are others'
 * to report. STATUS_MEMORY. */
enum status watching_maps(struct watching *w, const struct gpt_learner *l, size_t step, struct error *err);

/* Tells what the last call found: a record for each layer,
 *   {"kind":"verdict", "step", "verdict", "layer", "heads":[...], "says", "advice", "evidence":{...}}
 * and to `note` one line for all of a kind. Errors of metrics_append. */
enum status watching_tell(const struct watching *w, struct metrics *m, void (*note)(void *context, const char *line),
                          void *context, struct error *err);

#endif
