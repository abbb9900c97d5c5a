/* metrics.jsonl: one JSON object a line, appended as training goes. */
#ifndef IO_METRICS_H
#define IO_METRICS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

struct metrics {
    FILE *file;
    char *path;
};

/* Opens DIR/metrics.jsonl for appending, after cutting every record whose "step" is above keep_through
 * (resuming) and any half-written last line. keep_through < 0 empties it. STATUS_OPEN, STATUS_WRITE,
 * STATUS_FORMAT (a line that is no JSON object is named by number). */
enum status metrics_open(struct metrics *m, const char *dir, long long keep_through, struct error *err);

/* Appends one record and flushes it; takes the reference to record. Non-finite numbers cannot stand in JSON:
 * callers write null for them (metrics_number). STATUS_WRITE. */
enum status metrics_append(struct metrics *m, json_t *record, struct error *err);

/* A JSON number, or null for NaN and infinities. */
json_t *metrics_number(double x);

/* Closing is checked. */
enum status metrics_close(struct metrics *m, struct error *err);

#endif
