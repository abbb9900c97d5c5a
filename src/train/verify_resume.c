#include "train/verify_resume.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/commit.h"
#include "io/metrics.h"
#include "store/run.h"

/* ---- training ---- */

static struct trainer_settings quiet(const struct trainer_settings *s, size_t stop_after)
{
    struct trainer_settings q = *s;
    q.stop_after = stop_after;
    q.log_interval = 1;
    q.eval_interval = q.save_every = q.keep = 0;
    q.max_time = 0;
    return q;
}

static struct trainer_settings busy(const struct trainer_settings *s, size_t stop_after, size_t steps)
{
    struct trainer_settings b = quiet(s, stop_after);
    b.eval_interval = (steps + 1) / 2;
    b.save_every = 1;
    b.keep = 1;
    return b;
}

static enum status write_start(const struct trainer *t, const char *dir, struct error *err)
{
    json_t *state = state_to_json(t->state);
    if (!state)
        return fail(err, STATUS_MEMORY, "the run's state was refused memory");
    const struct checkpoint_moments moments = {t->optimizer.m, t->optimizer.v};
    const enum status s = checkpoint_write(dir, t->state->step, t->model, t->tokenizer, &moments, state, err);
    json_decref(state);
    return s;
}

/* A run that goes on from a checkpoint as `train --resume` does, every number of it read from there. */
struct resumed {
    struct checkpoint from;
    struct state state;
    struct trainer trainer;
};

static void resumed_free(struct resumed *r)
{
    trainer_free(&r->trainer);
    state_free(&r->state);
    checkpoint_free(&r->from);
}

static enum status resumed_open(struct resumed *r, const struct trainer *like, const char *from, struct error *err)
{
    char *folder;
    enum status s = run_find(&folder, from, err);
    if (s != STATUS_OK)
        return s;
    s = checkpoint_read(&r->from, folder, true, err);
    free(folder);
    if (s == STATUS_OK)
        s = state_from_json(&r->state, r->from.state, r->from.path, err);
    if (s != STATUS_OK)
        return s;
    r->from.model.config.precision = like->model->config.precision;
    r->trainer = (struct trainer){.settings = like->settings,
                                  .data = like->data,
                                  .tokenizer = &r->from.tokenizer,
                                  .model = &r->from.model,
                                  .state = &r->state,
                                  .resumed = true,
                                  .events = like->events};
    s = trainer_create(&r->trainer, err);
    if (s != STATUS_OK)
        return s;
    const size_t bytes = r->from.model.table.size * sizeof(real);
    memcpy(r->trainer.optimizer.m, r->from.moments.m, bytes);
    memcpy(r->trainer.optimizer.v, r->from.moments.v, bytes);
    return STATUS_OK;
}

/* From the newest checkpoint in `from` to `settings`' end, in the run directory `dir`. */
static enum status train_on(const struct trainer *like, const char *from, const char *dir,
                            struct trainer_settings settings, struct error *err)
{
    struct resumed r = {.from = {.path = NULL}};
    enum status s = resumed_open(&r, like, from, err);
    if (s == STATUS_OK) {
        r.trainer.settings = settings;
        r.trainer.dir = dir;
        s = trainer_run(&r.trainer, err);
    }
    resumed_free(&r);
    return s;
}

struct folders {
    char *start, *straight, *halves;
};

static enum status train_both(const struct verify_resume *v, struct trainer *t, const struct folders *f,
                              struct error *err)
{
    const struct trainer_settings as_given = t->settings;
    enum status s = write_start(t, f->start, err);
    if (s != STATUS_OK)
        return s;
    t->settings = quiet(&as_given, v->last);
    t->dir = f->straight;
    s = trainer_run(t, err);
    if (s == STATUS_OK)
        s = train_on(t, f->start, f->halves, busy(&as_given, v->half, v->half - v->first), err);
    if (s == STATUS_OK)
        s = train_on(t, f->halves, f->halves, quiet(&as_given, v->last), err);
    t->settings = as_given;
    return s;
}

/* ---- comparing ---- */

/* Notes the first number that differs. */
static void compare_block(struct verify_resume *v, const char *what, const struct params_table *table, const real *a,
                          const real *b)
{
    v->numbers += table->size;
    if (!v->same || memcmp(a, b, table->size * sizeof(real)) == 0)
        return;
    v->same = false;
    for (size_t i = 0; i < table->count; i++) {
        const struct params_tensor *p = &table->tensor[i];
        for (size_t k = p->offset; p->present && k < p->offset + p->rows * p->cols; k++)
            if (a[k] != b[k] || signbit(a[k]) != signbit(b[k])) { /* all are finite, or they had not been read */
                snprintf(v->difference, sizeof v->difference, "%s of %s, place %zu: %.9g straight, %.9g in halves",
                         what, p->name, k - p->offset, (double)a[k], (double)b[k]);
                return;
            }
    }
}

static enum status compare_checkpoints(struct verify_resume *v, const struct folders *f, struct error *err)
{
    struct checkpoint a = {.path = NULL}, b = {.path = NULL};
    char *of_a = NULL, *of_b = NULL;
    enum status s = run_find(&of_a, f->straight, err);
    if (s == STATUS_OK)
        s = run_find(&of_b, f->halves, err);
    if (s == STATUS_OK)
        s = checkpoint_read(&a, of_a, true, err);
    if (s == STATUS_OK)
        s = checkpoint_read(&b, of_b, true, err);
    if (s == STATUS_OK) {
        compare_block(v, "the weights", &a.model.table, a.model.params, b.model.params);
        compare_block(v, "the first moments", &a.model.table, a.moments.m, b.moments.m);
        compare_block(v, "the second moments", &a.model.table, a.moments.v, b.moments.v);
    }
    checkpoint_free(&a);
    checkpoint_free(&b);
    free(of_a);
    free(of_b);
    return s;
}

/* The step records of a run's metrics.jsonl as a new array, without what is measured by the clock. */
static enum status step_records(json_t **records, const char *dir, struct error *err)
{
    char *path = commit_join(dir, METRICS_FILE);
    FILE *file = path ? fopen(path, "rb") : NULL;
    enum status s = STATUS_OK;
    *records = json_array();
    if (!file || !*records)
        s = fail(err, STATUS_OPEN, "%s/%s: cannot be read", dir, METRICS_FILE);
    while (s == STATUS_OK) {
        json_t *record = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL);
        if (!record)
            break;
        const char *kind = json_string_value(json_object_get(record, "kind"));
        json_object_del(record, "tokens_per_s");
        if (kind && strcmp(kind, "step") == 0 && json_array_append(*records, record) != 0)
            s = fail(err, STATUS_MEMORY, "%s: no memory for its records", path);
        json_decref(record);
    }
    if (file)
        fclose(file);
    free(path);
    return s;
}

static void compare_records(struct verify_resume *v, const json_t *a, const json_t *b)
{
    v->records = json_array_size(a);
    if (v->same && (v->records != v->last - v->first || v->records != json_array_size(b))) {
        v->same = false;
        snprintf(v->difference, sizeof v->difference, "%zu step records straight, %zu in halves, %zu expected",
                 v->records, json_array_size(b), v->last - v->first);
    }
    for (size_t i = 0; v->same && i < v->records; i++) {
        const json_t *of_a = json_array_get(a, i), *of_b = json_array_get(b, i);
        if (json_equal(of_a, of_b))
            continue;
        v->same = false;
        snprintf(v->difference, sizeof v->difference, "the record of step %zu in metrics.jsonl: loss %.9g and %.9g",
                 v->first + i + 1, json_number_value(json_object_get(of_a, "loss")),
                 json_number_value(json_object_get(of_b, "loss")));
    }
}

static enum status compare(struct verify_resume *v, const struct folders *f, struct error *err)
{
    json_t *a = NULL, *b = NULL;
    v->same = true;
    enum status s = step_records(&a, f->straight, err);
    if (s == STATUS_OK)
        s = step_records(&b, f->halves, err);
    if (s == STATUS_OK)
        compare_records(v, a, b);
    json_decref(a);
    json_decref(b);
    return s == STATUS_OK ? compare_checkpoints(v, f, err) : s;
}

static enum status make_folders(const struct folders *f, struct error *err)
{
    enum status s = run_create(f->start, false, err);
    if (s == STATUS_OK)
        s = run_create(f->straight, false, err);
    if (s == STATUS_OK)
        s = run_create(f->halves, false, err);
    return s;
}

enum status verify_resume(struct verify_resume *v, struct trainer *t, const char *dir, size_t steps, struct error *err)
{
    assert(steps >= 2);
    const size_t first = t->state->step, all = t->settings.schedule.steps;
    *v = (struct verify_resume){.first = first, .half = first + steps / 2, .last = first + steps};
    if (first > all || steps > all - first)
        return fail(err, STATUS_USAGE, "%zu steps are to be verified, but the run has %zu left (--steps %zu)", steps,
                    first > all ? 0 : all - first, all);
    const struct folders f = {commit_join(dir, "start"), commit_join(dir, "straight"), commit_join(dir, "halves")};
    enum status s = f.start && f.straight && f.halves ? make_folders(&f, err)
                                                      : fail(err, STATUS_MEMORY, "%s: no memory left for a path", dir);
    if (s == STATUS_OK)
        s = train_both(v, t, &f, err);
    if (s == STATUS_OK)
        s = compare(v, &f, err);
    free(f.start);
    free(f.straight);
    free(f.halves);
    return s;
}
