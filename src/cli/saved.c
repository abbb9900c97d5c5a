#include "cli/saved.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/run.h"

enum status saved_open(struct saved *s, const char *run, struct error *err)
{
    *s = (struct saved){0};
    char *folder = NULL;
    enum status status = run_find(&folder, run, err);
    if (status != STATUS_OK)
        return status;
    status = checkpoint_read(&s->checkpoint, folder, false, err);
    if (status == STATUS_OK)
        s->run = run_of_checkpoint(folder);
    free(folder);
    return status;
}

void saved_close(struct saved *s)
{
    checkpoint_free(&s->checkpoint);
    free(s->run);
    *s = (struct saved){0};
}

bool saved_leaky(const struct saved *s)
{
    const struct config *c = &s->checkpoint.model.config;
    return c->trained != c->declared;
}

void saved_warn(const struct saved *s)
{
    if (saved_leaky(s))
        fprintf(stderr,
                "note: this run was trained with a leak (its mask let every symbol see the ones after it): its losses "
                "mean nothing, and its text is likely to be garbage\n");
}

/* A whole number of the state, or false. */
static bool whole(const json_t *json, size_t *out)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0 || (uint64_t)json_integer_value(json) > SIZE_MAX)
        return false;
    *out = (size_t)json_integer_value(json);
    return true;
}

bool saved_step(const struct saved *s, size_t *out)
{
    return whole(json_object_get(s->checkpoint.state, "step"), out);
}

bool saved_best(const struct saved *s, size_t *step, double *loss)
{
    const json_t *value = json_object_get(s->checkpoint.state, "best_loss");
    if (!json_is_number(value) || !whole(json_object_get(s->checkpoint.state, "best_step"), step))
        return false;
    *loss = json_number_value(value);
    return true;
}

bool saved_val_split(const struct saved *s, double *out)
{
    const json_t *value = json_object_get(json_object_get(s->checkpoint.state, "settings"), "val_split");
    const double split = json_number_value(value);
    if (!json_is_number(value) || !(split >= 0 && split < 1))
        return false;
    *out = split;
    return true;
}

const json_t *saved_text_paths(const struct saved *s)
{
    const json_t *paths = json_object_get(json_object_get(s->checkpoint.state, "text"), "paths");
    const json_t *path;
    size_t i;
    json_array_foreach(paths, i, path)
    {
        if (!json_is_string(path))
            return NULL;
    }
    return json_array_size(paths) > 0 ? paths : NULL;
}

const char *saved_text_hash(const struct saved *s)
{
    return json_string_value(json_object_get(json_object_get(s->checkpoint.state, "text"), "hash"));
}

static json_t *last_record(FILE *f, const char *kind, size_t through)
{
    json_t *last = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, f)) > 0) {
        json_t *record = json_loadb(line, (size_t)n, 0, NULL);
        const char *its_kind = json_string_value(json_object_get(record, "kind"));
        size_t step;
        if (its_kind && strcmp(its_kind, kind) == 0 && whole(json_object_get(record, "step"), &step) &&
            step <= through) {
            json_decref(last);
            last = json_incref(record);
        }
        json_decref(record);
    }
    free(line);
    return last;
}

json_t *saved_record(const struct saved *s, const char *kind)
{
    size_t step;
    if (!s->run || !saved_step(s, &step))
        return NULL;
    const size_t n = strlen(s->run) + sizeof "/metrics.jsonl";
    char *path = malloc(n);
    if (!path)
        return NULL;
    snprintf(path, n, "%s/metrics.jsonl", s->run);
    FILE *f = fopen(path, "rb");
    free(path);
    if (!f)
        return NULL;
    json_t *record = last_record(f, kind, step);
    fclose(f);
    return record;
}
