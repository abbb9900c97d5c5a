#include "train/watching.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/commit.h"
#include "io/lines.h"

enum status watching_open(struct watching *w, const struct gpt *g, struct error *err)
{
    *w = (struct watching){0};
    enum status s = head_watch_create(&w->watch, g->config.n_layer, g->config.n_head, err);
    if (!s)
        s = head_probe_create(&w->probe, g, err);
    if (s)
        watching_close(w);
    return s;
}

void watching_close(struct watching *w)
{
    head_watch_free(&w->watch);
    head_probe_free(&w->probe);
}

/* ---- looking ---- */

void watching_step(struct watching *w, const struct gpt_learner *l, size_t step, double loss, double lr)
{
    struct head_watch_probe probe;
    struct head_watch_look look = {
        .step = step, .loss = loss, .lr = lr, .entropy = l->entropy, .max_score = l->max_score};
    head_probe_count(&w->probe, lr);
    if (step % WATCHING_PROBE == 0) {
        probe = head_probe_measure(&w->probe, l->model, l->work, l->work->B, l->work->T);
        look.probe = &probe;
    }
    head_watch_step(&w->watch, &look);
}

enum status watching_maps(struct watching *w, const struct gpt_learner *l, size_t step, struct error *err)
{
    uint32_t tokens[HEAD_PROBE_LENGTH], targets[HEAD_PROBE_LENGTH];
    const size_t most = l->work->T, T = most < HEAD_PROBE_LENGTH ? most : HEAD_PROBE_LENGTH;
    w->watch.found = 0;
    if (T < 2)
        return STATUS_OK;
    dataset_window(l->data, tokens, targets, 0, T);
    const enum status s = head_probe_maps(&w->probe, l->model, tokens, T, l->work->team, err);
    if (s)
        return s == STATUS_MEMORY ? s : STATUS_OK;
    head_watch_maps(&w->watch, step, w->probe.distance, w->probe.from_uniform);
    return STATUS_OK;
}

/* ---- telling ---- */

static json_t *evidence(const struct head_finding *f)
{
    static const char *const causes[] = {NULL, "frozen", "temperature", "unknown"};
    const struct {
        const char *name;
        double figure;
    } all[] = {{"loss", f->loss},           {"lr", f->lr},
               {"entropy", f->entropy},     {"entropy_before", f->entropy_before},
               {"max_score", f->max_score}, {"max_score_before", f->max_score_before},
               {"turn", f->turn},           {"temperature", f->temperature},
               {"share", f->share},         {"distance", f->distance}};
    json_t *o = json_object();
    bool whole = o != NULL;
    for (size_t k = 0; whole && k < sizeof all / sizeof *all; k++)
        if (isfinite(all[k].figure))
            whole = json_object_set_new(o, all[k].name, json_real(all[k].figure)) == 0;
    if (whole && causes[f->cause])
        whole = json_object_set_new(o, "cause", json_string(causes[f->cause])) == 0;
    if (whole)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *heads(const struct head_finding *f)
{
    json_t *list = json_array();
    for (size_t k = 0; list && k < f->count; k++)
        if (json_array_append_new(list, json_integer((json_int_t)f->head[k])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* NULL when memory is refused; metrics_append says so. */
static json_t *record_of(const struct head_finding *f)
{
    char says[HEAD_FINDING_WORDS], advice[HEAD_FINDING_WORDS];
    head_finding_say(says, f, 1);
    head_finding_advise(advice, f);
    return json_pack("{s:s, s:I, s:s, s:I, s:o, s:s, s:s, s:o}", "kind", "verdict", "step", (json_int_t)f->step,
                     "verdict", head_finding_name(f->kind), "layer", (json_int_t)f->layer, "heads", heads(f), "says",
                     says, "advice", advice, "evidence", evidence(f));
}

/* How many findings from the first on make one line: all of a kind, but duplicates each their own. */
static size_t in_one_line(const struct head_finding *f, size_t left)
{
    size_t n = 1;
    while (n < left && f[n].kind == f[0].kind && f[0].kind != HEAD_FINDING_DUPLICATE)
        n++;
    return n;
}

enum status watching_tell(const struct watching *w, struct metrics *m, void (*note)(void *context, const char *line),
                          void *context, struct error *err)
{
    const size_t found = w->watch.found;
    for (size_t i = 0, n; i < found; i += n) {
        const struct head_finding *f = &w->watch.finding[i];
        n = in_one_line(f, found - i);
        for (size_t k = 0; k < n; k++) {
            const enum status s = metrics_append(m, record_of(&f[k]), err);
            if (s)
                return s;
        }
        char says[HEAD_FINDING_WORDS], advice[HEAD_FINDING_WORDS], line[2 * HEAD_FINDING_WORDS + 64];
        head_finding_say(says, f, n);
        head_finding_advise(advice, f);
        snprintf(line, sizeof line, "step %zu: %s: %s: %s", f->step, head_finding_name(f->kind), says, advice);
        note(context, line);
    }
    return STATUS_OK;
}

/* ---- after resuming ---- */

/* (L,H) numbers out of nested arrays, null as NaN; false when they have another shape. */
static bool grid(double *out, const json_t *rows, size_t L, size_t H)
{
    if (json_array_size(rows) != L)
        return false;
    for (size_t i = 0; i < L * H; i++) {
        const json_t *row = json_array_get(rows, i / H), *x = json_array_get(row, i % H);
        if (json_array_size(row) != H)
            return false;
        out[i] = json_is_number(x) ? json_number_value(x) : (double)NAN;
    }
    return true;
}

static void recall_step(struct watching *w, const json_t *record, double *room)
{
    const size_t L = w->watch.L, H = w->watch.H;
    const json_t *loss = json_object_get(record, "loss"), *step = json_object_get(record, "step");
    const struct head_watch_look look = {.step = (size_t)json_integer_value(step),
                                         .loss = json_is_number(loss) ? json_number_value(loss) : (double)NAN,
                                         .entropy = room,
                                         .max_score = room + L * H};
    if (json_integer_value(step) >= 0 && grid(room, json_object_get(record, "entropy"), L, H) &&
        grid(room + L * H, json_object_get(record, "max_score"), L, H))
        head_watch_recall(&w->watch, &look);
}

static void recall_verdict(struct watching *w, const json_t *record)
{
    const char *name = json_string_value(json_object_get(record, "verdict"));
    const json_t *list = json_object_get(record, "heads");
    const json_int_t layer = json_integer_value(json_object_get(record, "layer"));
    for (size_t k = 0; name && layer >= 0 && k < json_array_size(list); k++) {
        const json_int_t head = json_integer_value(json_array_get(list, k));
        if (head >= 0)
            head_watch_said(&w->watch, head_finding_of(name), (size_t)layer, (size_t)head);
    }
}

static enum status recall_all(struct watching *w, struct lines *log, double *room, struct error *err)
{
    struct line line;
    bool more = true;
    for (;;) {
        json_t *record = NULL;
        enum status s = lines_next(&line, &more, log, err);
        if (!s && more)
            s = metrics_parse(&record, line.bytes, line.n, err);
        if (s || !more)
            return s;
        const char *kind = json_string_value(json_object_get(record, "kind"));
        if (kind && strcmp(kind, "step") == 0)
            recall_step(w, record, room);
        if (kind && strcmp(kind, "verdict") == 0)
            recall_verdict(w, record);
        json_decref(record);
    }
}

static enum status recall_log(struct watching *w, const char *path, double *room, struct error *err)
{
    struct stat st;
    struct lines log;
    if (stat(path, &st) != 0)
        return STATUS_OK;
    enum status s = lines_open(&log, path, METRICS_MAX_LINE, err);
    if (s)
        return s;
    s = recall_all(w, &log, room, err);
    lines_close(&log);
    return s;
}

enum status watching_recall(struct watching *w, const char *dir, struct error *err)
{
    char *path = commit_join(dir, METRICS_FILE);
    double *room = calloc(2 * w->watch.L * w->watch.H, sizeof *room);
    const enum status s = path && room ? recall_log(w, path, room, err)
                                       : fail(err, STATUS_MEMORY, "%s: no memory left to read " METRICS_FILE, dir);
    free(path);
    free(room);
    return s;
}
