#include "cli/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/reading.h"
#include "cli/terminal.h"
#include "io/commit.h"
#include "io/lines.h"
#include "io/metrics.h"
#include "store/run.h"
#include "store/run_read.h"
#include "store/run_steps.h"

static enum status read_state(struct saved *s, struct error *err)
{
    /* A checkpoint that no trainer wrote has no state, or one that says nothing beside its files' hashes. */
    if (!json_object_get(s->checkpoint.state, "text"))
        return STATUS_OK;
    const enum status status = state_from_json(&s->state, s->checkpoint.state, "trainer_state.json", err);
    s->has_state = status == STATUS_OK;
    return s->has_state ? status : fail_within(err, status, "%s", s->checkpoint.path);
}

enum status saved_open(struct saved *s, const char *run, struct error *err)
{
    *s = (struct saved){0};
    enum status status = run_read(&s->checkpoint, run, false, err);
    if (status != STATUS_OK)
        return status;
    status = run_of_checkpoint(&s->run, s->checkpoint.path, err);
    if (status == STATUS_OK)
        status = read_state(s, err);
    if (status != STATUS_OK)
        saved_close(s);
    return status;
}

void saved_close(struct saved *s)
{
    if (s->has_state)
        state_free(&s->state);
    checkpoint_free(&s->checkpoint);
    free(s->run);
    *s = (struct saved){0};
}

bool saved_leaky(const struct saved *s)
{
    const struct config *c = &s->checkpoint.model.config;
    return c->trained != c->declared || (s->has_state && s->state.leaky);
}

void saved_warn(const struct saved *s)
{
    struct terminal notes;
    terminal_open(&notes, stderr);
    if (saved_leaky(s))
        terminal_entry(&notes, "note: ",
                       "this run was trained with a leak (symbols saw the ones after them): its losses mean nothing, "
                       "and its text is likely to be garbage");
}

double saved_val_split(const struct saved *s, double otherwise)
{
    const json_t *value = json_object_get(s->has_state ? s->state.settings : NULL, "val_split");
    const double split = json_number_value(value);
    return json_is_number(value) && split >= 0 && split < 1 ? split : otherwise;
}

/* Appends ": advice" to the message. */
static enum status advise(struct error *err, enum status status, const char *advice)
{
    const struct error said = *err;
    return advice ? fail(err, status, "%s: %s", said.message, advice) : status;
}

enum status saved_text(struct dataset *d, struct saved *s, const char *run, double val_split, const char *advice,
                       struct error *err)
{
    const struct state *state = &s->state;
    *d = (struct dataset){0};
    if (!s->has_state || state->n_texts == 0)
        return advise(err, fail(err, STATUS_USAGE, "%s does not say what text it was trained on", run), advice);
    if (strcmp(state->text[0], "-") == 0)
        return advise(err, fail(err, STATUS_USAGE, "%s was trained on standard input", run), advice);
    const enum status status =
        reading_open(d, &s->checkpoint.tokenizer, (const char *const *)state->text, state->n_texts, val_split, err);
    if (status != STATUS_OK)
        return advise(err, fail_within(err, status, "the text of the run"), advice);
    if (strcmp(state->text_hash, d->hash) == 0)
        return status;
    dataset_free(d);
    return advise(err, fail(err, STATUS_FORMAT, "%s has changed since the run was trained", state->text[0]), advice);
}

/* Every record of the kind goes to the end of `records`; or only the last one stays in it. */
static enum status read_records(json_t *records, struct lines *log, const char *kind, json_int_t through, bool last,
                                struct error *err)
{
    struct line line;
    bool more = true;
    for (;;) {
        json_t *record = NULL;
        enum status status = lines_next(&line, &more, log, err);
        if (status == STATUS_OK && more)
            status = metrics_parse(&record, line.bytes, line.n, err);
        if (status != STATUS_OK || !more)
            return status;
        const char *its_kind = json_string_value(json_object_get(record, "kind"));
        const json_t *step = json_object_get(record, "step");
        const bool wanted = its_kind && strcmp(its_kind, kind) == 0 && step && json_integer_value(step) <= through;
        if (wanted && last)
            json_array_clear(records);
        if (wanted && json_array_append(records, record) != 0)
            status = fail(err, STATUS_MEMORY, METRICS_FILE ": no memory left for its records");
        json_decref(record);
        if (status != STATUS_OK)
            return status;
    }
}

static bool is_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

enum status saved_spares(const struct saved *s, const char *output, const char *option, struct error *err)
{
    char *dir, *name;
    if (!output)
        return STATUS_OK;
    if (!commit_split(&dir, &name, output))
        return fail(err, STATUS_MEMORY, "--%s: out of memory", option);
    const bool in_checkpoint = is_same(dir, s->checkpoint.path);
    const bool is_log = s->run && is_same(dir, s->run) && strcmp(name, METRICS_FILE) == 0;
    free(dir);
    free(name);
    if (in_checkpoint)
        return fail(err, STATUS_USAGE, "--%s: %s is in the checkpoint itself: name a file elsewhere", option, output);
    if (is_log)
        return fail(err, STATUS_USAGE, "--%s: %s is the run's log: name another file", option, output);
    return reading_spares(output, option, (const char *const *)s->state.text, s->state.n_texts, err);
}

static enum status read_log(json_t *records, const struct saved *s, const char *kind, bool last, struct error *err)
{
    bool has_log;
    if (!s->run || !s->has_state)
        return STATUS_OK;
    enum status status = run_steps_has_file(&has_log, s->run, METRICS_FILE, 1, err);
    if (status != STATUS_OK || !has_log)
        return status;
    char *path = commit_join(s->run, METRICS_FILE);
    if (!path)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a path", s->run);
    struct lines log;
    status = lines_open(&log, path, METRICS_MAX_LINE, err);
    if (status == STATUS_OK) {
        status = read_records(records, &log, kind, (json_int_t)s->state.step, last, err);
        lines_close(&log);
    }
    free(path);
    return status;
}

static enum status read_kind(json_t **records, const struct saved *s, const char *kind, bool last, struct error *err)
{
    *records = json_array();
    if (!*records)
        return fail(err, STATUS_MEMORY, "no memory left for records of " METRICS_FILE);
    const enum status status = read_log(*records, s, kind, last, err);
    if (status != STATUS_OK) {
        json_decref(*records);
        *records = NULL;
    }
    return status;
}

enum status saved_record(json_t **record, const struct saved *s, const char *kind, struct error *err)
{
    json_t *records;
    *record = NULL;
    const enum status status = read_kind(&records, s, kind, true, err);
    if (status == STATUS_OK)
        *record = json_incref(json_array_get(records, 0));
    json_decref(records);
    return status;
}

enum status saved_records(json_t **records, const struct saved *s, const char *kind, struct error *err)
{
    return read_kind(records, s, kind, false, err);
}
