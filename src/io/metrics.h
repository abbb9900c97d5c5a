/* metrics.jsonl: one JSON object a line, appended as training goes. */
#ifndef IO_METRICS_H
#define IO_METRICS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "io/json_text.h"

#define METRICS_FILE "metrics.jsonl"
#define METRICS_MAX_LINE ((size_t)16 << 20) /* bytes of one record */

struct metrics {
    FILE *file;
    char *path;
    char *aside;          /* where the log as it was went, because lines of it were no records; or NULL */
    size_t unsound;       /* how many such lines */
    size_t first_unsound; /* the number of the first, from 1 */
};

/* Opens DIR/metrics.jsonl for appending, after cutting every record whose "step" is above keep_through
 * (resuming) and any half-written last line; what is kept keeps its bytes. keep_through < 0 empties it.
 *
 * A log is no part of what a run needs to go on, so one that is damaged does not stop it: when a line is no record (no
 * JSON object, a "step" that is no whole number, longer than METRICS_MAX_LINE), the log as it was is moved aside whole,
 * to metrics.jsonl.old (then .old-2, ...), the records that are sound go on in a new metrics.jsonl, and `aside` says
 * so: the caller tells the user.
 *
 * Memory: a line, and only when something is cut also what is kept, once. STATUS_OPEN, STATUS_READ, STATUS_WRITE,
 * STATUS_MEMORY. On failure the file is as it was and m is empty. */
enum status metrics_open(struct metrics *m, const char *dir, long long keep_through, struct error *err);

/* A line of the log as a new reference; *record is NULL when it is no record. STATUS_MEMORY. */
enum status metrics_parse(json_t **record, const uint8_t *line, size_t n, struct error *err);

/* Appends one record as one line, reals with 9 significant digits (enough to tell any two floats apart), and hands
 * it to the system at once; takes the reference to record. A line that fails half-way is cut off again. Non-finite
 * numbers cannot stand in JSON: callers write null for them (metrics_number). STATUS_WRITE; STATUS_MEMORY, also
 * when record is NULL: memory was refused while it was made. */
enum status metrics_append(struct metrics *m, json_t *record, struct error *err);

/* A JSON number, or null for NaN and infinities. */
json_t *metrics_number(double x);

/* Building a record: {"kind":kind,"step":step}, then one key at a time. A refused allocation leaves the record NULL,
 * and metrics_append says so. Grids are arrays of rows. */
json_t *metrics_record(const char *kind, size_t step);
void metrics_put(json_t **record, const char *key, double x);
void metrics_put_text(json_t **record, const char *key, const char *utf8, size_t n);
void metrics_put_texts(json_t **record, const char *key, const char *const *utf8, size_t n);
void metrics_put_grid(json_t **record, const char *key, const double *values, size_t rows, size_t cols);

/* Brings what was appended to the disk: before a checkpoint is committed, since what follows it may be cut.
 * STATUS_WRITE. */
enum status metrics_sync(struct metrics *m, struct error *err);

/* Syncs and closes, both checked; m is empty afterwards in every case. STATUS_WRITE. Does nothing to an empty m. */
enum status metrics_close(struct metrics *m, struct error *err);

#endif
