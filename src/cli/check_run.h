/* nopeek check RUN: all detectors on a saved model, with its own text where that can be found. */
#ifndef CLI_CHECK_RUN_H
#define CLI_CHECK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "model/config.h"

struct check_run {
    const char *run;          /* a run directory or a checkpoint folder */
    const char *const *texts; /* (n_texts): instead of the text that the run remembers */
    size_t n_texts, threads;  /* threads 0: one per core */
    enum precision precision; /* that the model computes with */
    uint64_t seed;
    bool quick;
    /* As detect.h's. */
    bool (*stop)(void *context, const char *detector, size_t done, size_t total);
    void *context;
};

/* Fills *v. A text that the run remembers and that is gone or has changed costs a note, one that is named must be
 * there. Errors of saved_open, dataset_open and detect_run. */
enum status check_run(struct verdict *v, const struct check_run *c, struct error *err);

#endif
