#include "store/state.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/metrics.h"

#define MOST_BYTES ((size_t)1 << 40) /* of a text */
#define MOST_SECONDS 1e12

static const char *const NO_MEMORY = "the run's state was refused memory";

json_t *state_path_json(const char *path)
{
    json_t *string = json_string(path);
    if (string)
        return string;
    char *plain = strdup(path);
    for (char *at = plain; at && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = plain ? json_string(plain) : NULL;
    free(plain);
    return string;
}

json_t *state_to_json(const struct state *s)
{
    json_t *paths = json_array();
    for (size_t i = 0; i < s->n_texts; i++)
        if (json_array_append_new(paths, state_path_json(s->text[i])) != 0) {
            json_decref(paths);
            return NULL;
        }
    return json_pack("{s:I, s:o, s:o, s:f, s:b, s:s?, s:{s:o, s:s, s:I, s:I}, s:O?}", "step", (json_int_t)s->step,
                     "best_step", s->best_step == STATE_NO_STEP ? json_null() : json_integer((json_int_t)s->best_step),
                     "best_loss", metrics_number(s->best_loss), "seconds", s->seconds, "leaky", s->leaky, "check",
                     s->check, "text", "paths", paths, "hash", s->text_hash, "bytes", (json_int_t)s->text_bytes,
                     "symbols", (json_int_t)s->text_symbols, "settings", s->settings);
}

static enum status bad_key(const char *name, const char *key, const char *expected, struct error *err)
{
    return fail(err, STATUS_FORMAT, "%s: \"%s\" must be %s: the file is damaged or not from a training run", name, key,
                expected);
}

static enum status get_size(size_t *out, const json_t *object, const char *key, size_t most, const char *name,
                            struct error *err)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (uintmax_t)json_integer_value(v) > most) {
        char expected[64];
        snprintf(expected, sizeof expected, "a whole number from 0 to %zu", most);
        return bad_key(name, key, expected, err);
    }
    *out = (size_t)json_integer_value(v);
    return STATUS_OK;
}

static enum status get_text(struct state *s, const json_t *json, const char *name, struct error *err)
{
    const json_t *text = json_object_get(json, "text"), *paths = json_object_get(text, "paths");
    const char *hash = json_string_value(json_object_get(text, "hash"));
    if (!json_is_array(paths) || !hash || !hash_is_text(hash))
        return bad_key(name, "text", "an object with paths and a hash of 32 hex digits", err);
    memcpy(s->text_hash, hash, strlen(hash) + 1);
    const size_t n = json_array_size(paths);
    const char **list = calloc(n ? n : 1, sizeof *list);
    if (!list)
        return fail(err, STATUS_MEMORY, "%s", NO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        list[i] = json_string_value(json_array_get(paths, i));
        if (!list[i] || list[i][0] == '\0') {
            free(list);
            return bad_key(name, "text", "an object whose paths are strings, none of them empty", err);
        }
    }
    enum status status = state_set_text(s, list, n, err);
    free(list);
    if (!status)
        status = get_size(&s->text_bytes, text, "bytes", MOST_BYTES, name, err);
    if (!status)
        status = get_size(&s->text_symbols, text, "symbols", s->text_bytes, name, err);
    return status;
}

/* The verdict is printed: whatever the file holds, it is one line. */
static enum status set_check(struct state *s, const char *verdict, struct error *err)
{
    const enum status status = state_set_check(s, verdict, err);
    if (status == STATUS_OK)
        status_one_line(s->check);
    return status;
}

static enum status read_state(struct state *s, const json_t *json, const char *name, struct error *err)
{
    enum status status = get_size(&s->step, json, "step", STATE_MOST_STEPS, name, err);
    if (status)
        return status;
    const json_t *best_step = json_object_get(json, "best_step"), *best_loss = json_object_get(json, "best_loss");
    if (json_is_integer(best_step)) {
        status = get_size(&s->best_step, json, "best_step", s->step, name, err);
        if (status)
            return status;
    } else if (!json_is_null(best_step)) {
        return bad_key(name, "best_step", "a whole number or null", err);
    }
    if (json_is_number(best_loss))
        s->best_loss = json_number_value(best_loss);
    else if (!json_is_null(best_loss))
        return bad_key(name, "best_loss", "a number or null", err);
    const json_t *seconds = json_object_get(json, "seconds"), *leaky = json_object_get(json, "leaky"),
                 *check = json_object_get(json, "check"), *settings = json_object_get(json, "settings");
    if (!json_is_number(seconds) || !(json_number_value(seconds) >= 0 && json_number_value(seconds) <= MOST_SECONDS))
        return bad_key(name, "seconds", "a number from 0 to 1e12", err);
    s->seconds = json_number_value(seconds);
    if (!json_is_boolean(leaky))
        return bad_key(name, "leaky", "true or false", err);
    s->leaky = json_is_true(leaky);
    if (json_is_string(check))
        status = set_check(s, json_string_value(check), err);
    else if (!json_is_null(check))
        status = bad_key(name, "check", "text or null", err);
    if (status)
        return status;
    if (!json_is_object(settings))
        return bad_key(name, "settings", "an object", err);
    s->settings = json_deep_copy(settings);
    if (!s->settings)
        return fail(err, STATUS_MEMORY, "%s", NO_MEMORY);
    return get_text(s, json, name, err);
}

enum status state_from_json(struct state *s, const json_t *json, const char *name, struct error *err)
{
    *s = (struct state){.best_step = STATE_NO_STEP, .best_loss = (double)NAN};
    const enum status status = read_state(s, json, name, err);
    if (status)
        state_free(s);
    return status;
}

static void free_text(struct state *s)
{
    for (size_t i = 0; i < s->n_texts; i++)
        free(s->text[i]);
    free(s->text);
    s->text = NULL;
    s->n_texts = 0;
}

enum status state_set_text(struct state *s, const char *const *paths, size_t n, struct error *err)
{
    struct state copy = {.text = calloc(n ? n : 1, sizeof *copy.text)};
    if (!copy.text)
        return fail(err, STATUS_MEMORY, "%s", NO_MEMORY);
    for (; copy.n_texts < n; copy.n_texts++) {
        copy.text[copy.n_texts] = strdup(paths[copy.n_texts]);
        if (!copy.text[copy.n_texts]) {
            free_text(&copy);
            return fail(err, STATUS_MEMORY, "%s", NO_MEMORY);
        }
    }
    free_text(s);
    s->text = copy.text;
    s->n_texts = n;
    return STATUS_OK;
}

enum status state_set_check(struct state *s, const char *verdict, struct error *err)
{
    char *copy = strdup(verdict);
    if (!copy)
        return fail(err, STATUS_MEMORY, "%s", NO_MEMORY);
    free(s->check);
    s->check = copy;
    return STATUS_OK;
}

void state_free(struct state *s)
{
    free_text(s);
    free(s->check);
    json_decref(s->settings);
    *s = (struct state){0};
}
