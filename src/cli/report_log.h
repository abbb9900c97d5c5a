/* What `nopeek report` takes from metrics.jsonl, in one pass and in memory that does not grow with the run: curves
 * thinned (report/thin.h), samples and attention maps spread evenly over the run. */
#ifndef CLI_REPORT_LOG_H
#define CLI_REPORT_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "report/thin.h"

/* Some of many records: every `stride`th of a kind, and the last. */
struct report_sift {
    size_t most;   /* records kept at most, beside the last; > 1 */
    size_t seen;   /* in all */
    size_t stride; /* 1, and twice as much whenever there are too many */
    size_t count;
    json_t **record; /* (count) and room for one more, ascending by step */
};

enum { REPORT_LOSS, REPORT_LR, REPORT_GRAD_NORM, REPORT_RATE, REPORT_STEP_CURVES };
enum { REPORT_TRAIN, REPORT_VAL, REPORT_GENERATION, REPORT_PARALLEL, REPORT_EVAL_CURVES };

struct report_log {
    bool there;                                 /* there is a log with a record in it */
    struct thin steps;                          /* REPORT_STEP_CURVES series */
    struct thin evals;                          /* REPORT_EVAL_CURVES series */
    struct thin heads;                          /* (L H) series of entropy */
    struct report_sift samples, maps, verdicts; /* "eval" records, "attention" records, "verdict" records */
    size_t records, unsound;                    /* lines: that were read; that are no records, or out of order */
    long long last_step;                        /* -1: none */
    json_t *last_eval;                          /* the last record of an evaluation, or NULL */
};

/* The most that is kept; samples and maps beside the last one. */
#define REPORT_LOG_POINTS ((size_t)600)
#define REPORT_LOG_SAMPLES ((size_t)24)
#define REPORT_LOG_MAPS ((size_t)24)
#define REPORT_LOG_VERDICTS ((size_t)100)

/* Reads the log at `path` of a model of L layers of H heads; one that is not there is empty. A last line that is being
 * written at this moment does not count; a record whose step is none that training can reach is unsound, and an entropy
 * that is not from 0 to 1 is none. STATUS_OPEN, STATUS_READ, STATUS_MEMORY. Free in every case. */
enum status report_log_read(struct report_log *l, const char *path, size_t L, size_t H, struct error *err);
void report_log_free(struct report_log *l);

/* A number of a record; NaN when it has none there. */
double report_log_number(const json_t *record, const char *key);

#endif
