#include "cli/report_log.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/lines.h"
#include "io/metrics.h"

/* Values of all heads' curves together, which bounds how many bins each has. */
#define HEAD_VALUES ((size_t)60000)
#define FEWEST_BINS ((size_t)4)
/* No run can be longer (train --steps). */
#define LAST_STEP ((long long)UINT32_MAX)
/* By how much rounding may take an entropy out of 0 to 1. */
#define ROUNDING 1e-3

static enum status no_memory(struct error *err)
{
    return fail(err, STATUS_MEMORY, "report: out of memory");
}

double report_log_number(const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool sift_make(struct report_sift *s, size_t most)
{
    *s = (struct report_sift){.most = most, .stride = 1};
    s->record = calloc(most + 1, sizeof(json_t *));
    return s->record;
}

static void sift_free(struct report_sift *s)
{
    for (size_t i = 0; i < s->count; i++)
        json_decref(s->record[i]);
    free(s->record);
    *s = (struct report_sift){0};
}

/* Only the last record may be one that is not in the rhythm: it goes when the next one comes. */
static void sift_add(struct report_sift *s, json_t *record)
{
    if (s->count > 0 && (s->seen - 1) % s->stride != 0)
        json_decref(s->record[--s->count]);
    if (s->count > s->most) {
        size_t kept = 0;
        for (size_t i = 0; i < s->count; i++)
            if (i % 2 == 0)
                s->record[kept++] = s->record[i];
            else
                json_decref(s->record[i]);
        s->count = kept;
        s->stride *= 2;
    }
    s->record[s->count++] = json_incref(record);
    s->seen++;
}

static void add_step(struct report_log *l, double step, const json_t *record)
{
    static const char *const keys[REPORT_STEP_CURVES] = {"loss", "lr", "grad_norm", "tokens_per_s"};
    double y[REPORT_STEP_CURVES];
    for (size_t k = 0; k < REPORT_STEP_CURVES; k++)
        y[k] = report_log_number(record, keys[k]);
    thin_add(&l->steps, step, y);
}

/* A share of the most that there can be; NaN where a log that was put together by hand has something else. */
static double entropy_of(const json_t *value)
{
    const double share = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return share >= -ROUNDING && share <= 1 + ROUNDING ? share : (double)NAN;
}

/* Takes the entropies where the record has a table of the model's shape; heads (L,H). */
static bool take_heads(double *heads, const json_t *record, size_t L, size_t H)
{
    const json_t *table = json_object_get(record, "entropy");
    bool fits = json_array_size(table) == L;
    for (size_t layer = 0; layer < L && fits; layer++) {
        const json_t *row = json_array_get(table, layer);
        fits = json_array_size(row) == H;
        for (size_t h = 0; h < H && fits; h++)
            heads[layer * H + h] = entropy_of(json_array_get(row, h));
    }
    return fits;
}

static void add_eval(struct report_log *l, double step, json_t *record)
{
    static const char *const keys[REPORT_EVAL_CURVES] = {"train_loss", "val_loss", "generation_loss",
                                                         "generation_parallel"};
    double y[REPORT_EVAL_CURVES];
    for (size_t k = 0; k < REPORT_EVAL_CURVES; k++)
        y[k] = report_log_number(record, keys[k]);
    thin_add(&l->evals, step, y);
    if (json_is_string(json_object_get(record, "sample")))
        sift_add(&l->samples, record);
    json_decref(l->last_eval);
    l->last_eval = json_incref(record);
}

/* What one pass needs beside the log. */
struct pass {
    struct report_log *log;
    size_t L, H;
    double *heads;                   /* (L,H) */
    long long step, eval, attention; /* the last record of each kind */
};

/* Later than the one before it of its kind? A log that was put together by hand may not be. */
static bool advances(long long *last, long long step)
{
    const bool later = step > *last;
    if (later)
        *last = step;
    return later;
}

static bool take_record(struct pass *p, json_t *record)
{
    struct report_log *l = p->log;
    const char *kind = json_string_value(json_object_get(record, "kind"));
    const json_t *number = json_object_get(record, "step");
    if (!kind || !number)
        return true;
    const long long step = json_integer_value(number);
    bool sound = step >= 0 && step <= LAST_STEP;
    if (sound && strcmp(kind, "step") == 0) {
        sound = advances(&p->step, step);
        if (sound)
            add_step(l, (double)step, record);
        if (sound && take_heads(p->heads, record, p->L, p->H))
            thin_add(&l->heads, (double)step, p->heads);
    } else if (sound && strcmp(kind, "eval") == 0) {
        sound = advances(&p->eval, step);
        if (sound)
            add_eval(l, (double)step, record);
    } else if (sound && strcmp(kind, "attention") == 0) {
        sound = advances(&p->attention, step);
        if (sound)
            sift_add(&l->maps, record);
    } else if (sound && strcmp(kind, "verdict") == 0) { /* several at one step */
        sift_add(&l->verdicts, record);
    } else if (sound) {
        return true; /* of a kind that this program does not know */
    }
    if (sound && step > l->last_step)
        l->last_step = step;
    return sound;
}

static enum status go_through(struct pass *p, const char *path, struct error *err)
{
    struct lines lines;
    enum status s = lines_open(&lines, path, METRICS_MAX_LINE, err);
    if (s)
        return s;
    bool more = true;
    while (!s && more) {
        struct line line;
        json_t *record = NULL;
        s = lines_next(&line, &more, &lines, err);
        if (!s && more)
            s = metrics_parse(&record, line.bytes, line.n, err);
        if (s || !more)
            break;
        if (record && take_record(p, record))
            p->log->records++;
        else if (line.ended)
            p->log->unsound++;
        json_decref(record);
    }
    lines_close(&lines);
    return s;
}

static bool make(struct report_log *l, size_t heads)
{
    size_t bins = HEAD_VALUES / heads / 2 * 2;
    bins = bins > REPORT_LOG_POINTS ? REPORT_LOG_POINTS : bins < FEWEST_BINS ? FEWEST_BINS : bins;
    return thin_make(&l->steps, REPORT_STEP_CURVES, REPORT_LOG_POINTS) &&
           thin_make(&l->evals, REPORT_EVAL_CURVES, REPORT_LOG_POINTS) && thin_make(&l->heads, heads, bins) &&
           sift_make(&l->samples, REPORT_LOG_SAMPLES) && sift_make(&l->maps, REPORT_LOG_MAPS) &&
           sift_make(&l->verdicts, REPORT_LOG_VERDICTS);
}

enum status report_log_read(struct report_log *l, const char *path, size_t L, size_t H, struct error *err)
{
    *l = (struct report_log){.last_step = -1};
    struct pass p = {.log = l, .L = L, .H = H, .step = -1, .eval = -1, .attention = -1};
    if (!make(l, L * H))
        return no_memory(err);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return STATUS_OK;
    p.heads = malloc(L * H * sizeof *p.heads);
    if (!p.heads)
        return no_memory(err);
    const enum status s = go_through(&p, path, err);
    free(p.heads);
    l->there = l->records > 0;
    return s;
}

void report_log_free(struct report_log *l)
{
    thin_free(&l->steps);
    thin_free(&l->evals);
    thin_free(&l->heads);
    sift_free(&l->samples);
    sift_free(&l->maps);
    sift_free(&l->verdicts);
    json_decref(l->last_eval);
    *l = (struct report_log){0};
}
