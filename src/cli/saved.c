#include "cli/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/commit.h"
#include "io/mapped.h"
#include "io/metrics.h"
#include "store/run.h"

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
    char *folder = NULL;
    enum status status = run_find(&folder, run, err);
    if (status != STATUS_OK)
        return status;
    status = checkpoint_read(&s->checkpoint, folder, false, err);
    if (status == STATUS_OK) {
        s->run = run_of_checkpoint(folder);
        status = read_state(s, err);
        if (status != STATUS_OK)
            saved_close(s);
    }
    free(folder);
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
    if (saved_leaky(s))
        fprintf(stderr,
                "note: this run was trained with a leak (symbols saw the ones after them): its losses mean nothing, "
                "and its text is likely to be garbage\n");
}

double saved_val_split(const struct saved *s, double otherwise)
{
    const json_t *value = json_object_get(s->has_state ? s->state.settings : NULL, "val_split");
    const double split = json_number_value(value);
    return json_is_number(value) && split >= 0 && split < 1 ? split : otherwise;
}

static json_t *last_record(const struct mapped *log, const char *kind, json_int_t through)
{
    json_t *last = NULL;
    const char *line = (const char *)log->bytes, *const end = line + log->size;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *next = newline ? newline + 1 : end;
        json_t *record = json_loadb(line, (size_t)(next - line), 0, NULL);
        const char *its_kind = json_string_value(json_object_get(record, "kind"));
        if (its_kind && strcmp(its_kind, kind) == 0 && json_is_integer(json_object_get(record, "step")) &&
            json_integer_value(json_object_get(record, "step")) <= through) {
            json_decref(last);
            last = json_incref(record);
        }
        json_decref(record);
        line = next;
    }
    return last;
}

json_t *saved_record(const struct saved *s, const char *kind)
{
    if (!s->run || !s->has_state)
        return NULL;
    char *path = commit_join(s->run, METRICS_FILE);
    if (!path)
        return NULL;
    struct mapped log;
    struct error ignored;
    const enum status status = mapped_open(&log, path, &ignored);
    free(path);
    if (status != STATUS_OK || log.size == 0)
        return NULL;
    json_t *record = last_record(&log, kind, (json_int_t)s->state.step);
    mapped_close(&log);
    return record;
}
