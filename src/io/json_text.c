#include "io/json_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum status json_text_check(const char *name, const uint8_t *text, size_t n, const struct json_limits *limits,
                            struct error *err)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    if (n > limits->bytes)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes of JSON, at most %zu expected", name, n, limits->bytes);
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            values++;
            if (++depth > limits->depth)
                return fail(err, STATUS_FORMAT, "%s: JSON is nested more than %zu deep at its byte %zu", name,
                            limits->depth, i);
        } else if (c == ']' || c == '}') {
            depth -= depth > 0;
        } else if (c == ',') {
            values++;
        }
        if (values > limits->values)
            return fail(err, STATUS_FORMAT, "%s: JSON has more than %zu values at its byte %zu", name, limits->values,
                        i);
    }
    return STATUS_OK;
}

enum status json_text_parse(json_t **out, const char *name, const uint8_t *text, size_t n, size_t flags,
                            const struct json_limits *limits, struct error *err)
{
    *out = NULL;
    const enum status s = json_text_check(name, text, n, limits, err);
    if (s != STATUS_OK)
        return s;
    if (n == 0)
        return fail(err, STATUS_FORMAT, "%s: no valid JSON at line 1: the file is empty", name);
    json_error_t why;
    errno = 0; /* the parser does not always say so when memory is refused to it */
    *out = json_loadb((const char *)text, n, JSON_REJECT_DUPLICATES | flags, &why);
    const bool refused = errno == ENOMEM;
    if (*out && !refused)
        return STATUS_OK;
    json_decref(*out); /* a long string lacks what it had no room for, and passes */
    *out = NULL;
    return refused || json_error_code(&why) == json_error_out_of_memory
               ? fail(err, STATUS_MEMORY, "%s: no memory left for its JSON", name)
               : fail(err, STATUS_FORMAT, "%s: no valid JSON at line %d: %.100s", name, why.line, why.text);
}

/* ---- writing ---- */

struct text {
    char *bytes;
    size_t count, room;
    bool refused; /* once; jansson does not look at every answer */
};

static int append(const char *bytes, size_t n, void *context)
{
    struct text *t = context;
    if (!t->refused && n >= t->room - t->count) {
        const size_t room = 2 * t->room + n;
        char *more = realloc(t->bytes, room);
        t->refused = !more;
        t->bytes = more ? more : t->bytes;
        t->room = more ? room : t->room;
    }
    if (t->refused)
        return -1;
    memcpy(t->bytes + t->count, bytes, n);
    t->count += n;
    return 0;
}

char *json_text_make(const json_t *json, size_t flags, size_t *size)
{
    struct text t = {.room = 512};
    t.bytes = malloc(t.room);
    if (!t.bytes || json_dump_callback(json, append, &t, flags) != 0 || t.refused) {
        free(t.bytes);
        return NULL;
    }
    t.bytes[t.count] = '\0';
    if (size)
        *size = t.count;
    return t.bytes;
}
