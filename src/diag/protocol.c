#include "diag/protocol.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXCERPT_SIZE 72

/* The beginning of a line, fit to stand in a message. */
static const char *excerpt(char out[EXCERPT_SIZE], const char *text, size_t n)
{
    const size_t most = EXCERPT_SIZE - 4, kept = n < most ? n : most;
    for (size_t i = 0; i < kept; i++)
        out[i] = (char)(text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
    strcpy(out + kept, n > most ? "..." : "");
    return out;
}

static enum status not_json(const char *line, size_t length, const char *expected, struct error *err)
{
    char text[EXCERPT_SIZE];
    if (length == 0)
        return fail(err, STATUS_FORMAT, "found an empty line, expected %s", expected);
    return fail(err, STATUS_FORMAT,
                "found a line that is no JSON object, \"%s\", expected %s; whatever else the "
                "program prints belongs on standard error",
                excerpt(text, line, length), expected);
}

static enum status gave_up(const char *why, size_t n, struct error *err)
{
    char text[EXCERPT_SIZE * 4];
    const size_t kept = n < sizeof text - 1 ? n : sizeof text - 1;
    for (size_t i = 0; i < kept; i++)
        text[i] = (char)((unsigned char)why[i] < ' ' ? ' ' : why[i]);
    text[kept] = '\0';
    return fail(err, STATUS_FORMAT, "the program says: %s", text);
}

/* --- the first answer ----------------------------------------------------------------------------------- */

static enum status read_size(size_t *out, const json_t *object, const char *key, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return fail(err, STATUS_FORMAT, "there is no \"%s\", expected {\"vocab_size\":V,\"context\":T}", key);
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 1 || number > (json_int_t)PROTOCOL_LARGEST)
        return fail(err, STATUS_FORMAT, "\"%s\" is %s, expected a whole number from 1 to %zu", key,
                    json_is_integer(value) ? "out of range" : "no whole number", PROTOCOL_LARGEST);
    *out = (size_t)number;
    return STATUS_OK;
}

enum status protocol_read_hello(size_t *V, size_t *T, bool *one_length, const char *line, size_t length,
                                struct error *err)
{
    json_t *object = json_loadb(line, length, 0, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return not_json(line, length, "{\"vocab_size\":V,\"context\":T}", err);
    }
    const json_t *said = json_object_get(object, "error");
    enum status s = json_is_string(said) ? gave_up(json_string_value(said), json_string_length(said), err)
                                         : read_size(V, object, "vocab_size", err);
    if (s == STATUS_OK)
        s = read_size(T, object, "context", err);
    *one_length = json_is_true(json_object_get(object, "one_length"));
    json_decref(object);
    return s;
}

/* --- the question --------------------------------------------------------------------------------------- */

char *protocol_question(size_t *length, const uint32_t *tokens, size_t n, const size_t *rows, size_t n_rows)
{
    char *const line = malloc(64 + 21 * (n + (rows ? n_rows : 0)));
    if (!line)
        return NULL;
    char *at = line + sprintf(line, "{\"tokens\":[");
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s%lu", i ? "," : "", (unsigned long)tokens[i]);
    if (rows) {
        at += sprintf(at, "],\"rows\":[");
        for (size_t i = 0; i < n_rows; i++)
            at += sprintf(at, "%s%zu", i ? "," : "", rows[i]);
    }
    at += sprintf(at, "]}\n");
    *length = (size_t)(at - line);
    return line;
}

/* --- the answer: large, and with numbers that jansson refuses, so it is walked through here ---------------------- */

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Past a string, from its first quote; NULL when it does not end. */
static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        at += strcspn(at, "\"\\");
        if (*at == '"')
            break;
        if (*at == '\0' || *++at == '\0')
            return NULL;
    }
    return at + 1;
}

/* Past any value; NULL when it does not end. */
static const char *skip_value(const char *at)
{
    size_t depth = 0;
    do {
        at = skip_blank(at);
        if (*at == '"') {
            at = skip_string(at);
            if (!at)
                return NULL;
        } else if (*at == '[' || *at == '{') {
            depth++;
            at++;
        } else if (*at == ']' || *at == '}') {
            if (depth == 0)
                return NULL;
            depth--;
            at++;
        } else {
            const size_t n = strcspn(at, depth ? "[]{}\"" : ",]}\" \t\r\n");
            if (n == 0 || at[n] == '\0')
                return NULL;
            at += n;
        }
    } while (depth > 0);
    return at;
}

/* Finds where the values of "logits" and "error" begin. False when the line is no object. */
static bool find_members(const char *line, size_t length, const char **logits, const char **error)
{
    const char *at = skip_blank(line);
    if (*at != '{')
        return false;
    at = skip_blank(at + 1);
    while (*at != '}') {
        if (*at != '"')
            return false;
        const char *const key = at;
        at = skip_string(at);
        if (!at)
            return false;
        const size_t n = (size_t)(at - key);
        at = skip_blank(at);
        if (*at != ':')
            return false;
        at = skip_blank(at + 1);
        if (n == strlen("\"logits\"") && strncmp(key, "\"logits\"", n) == 0)
            *logits = at;
        if (n == strlen("\"error\"") && strncmp(key, "\"error\"", n) == 0)
            *error = at;
        at = skip_value(at);
        if (!at)
            return false;
        at = skip_blank(at);
        if (*at == ',') {
            at = skip_blank(at + 1);
            if (*at == '}')
                return false;
        } else if (*at != '}')
            return false;
    }
    return skip_blank(at + 1) == line + length;
}

/* One number, or a word that stands for one. */
static bool read_number(double *x, const char **at)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"NaN", NAN}, {"null", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        if (strncmp(*at, words[i].word, n) == 0) {
            *x = words[i].value;
            *at += n;
            return true;
        }
    }
    const char *const digit = *at + (**at == '-');
    if (*digit < '0' || *digit > '9' || digit[1] == 'x' || digit[1] == 'X')
        return false;
    char *end;
    *x = strtod(*at, &end);
    *at = end;
    return true;
}

/* Reads one row; out NULL: only looks at it. *count: how many numbers it has, of which V at most are stored. */
static bool read_row(double *out, size_t *count, const char **at, size_t V)
{
    *count = 0;
    *at = skip_blank(*at);
    if (**at != '[')
        return false;
    *at = skip_blank(*at + 1);
    while (**at != ']') {
        double x;
        if (!read_number(&x, at))
            return false;
        if (out && *count < V)
            out[*count] = x;
        ++*count;
        *at = skip_blank(*at);
        if (**at == ',') {
            *at = skip_blank(*at + 1);
            if (**at == ']')
                return false;
        } else if (**at != ']')
            return false;
    }
    ++*at;
    return true;
}

static size_t count_rows(const char *at)
{
    const char *const end = skip_value(at);
    size_t n = 0;
    for (at++; at < end; at++)
        n += *at == '[';
    return n;
}

static enum status wrong_entry(const char *at, size_t row, struct error *err)
{
    char text[EXCERPT_SIZE];
    return fail(err, STATUS_FORMAT, "in row %zu of \"logits\" stands \"%s\", expected a list of numbers", row,
                excerpt(text, at, strnlen(at, 20)));
}

enum status protocol_read_logits(double *logits, const char *line, size_t length, size_t n, const size_t *rows,
                                 size_t n_rows, size_t V, struct error *err)
{
    const char *at = NULL, *error = NULL;
    if (!find_members(line, length, &at, &error))
        return not_json(line, length, "{\"logits\":[[...],...]}", err);
    if (error) {
        const char *const end = skip_value(error);
        json_t *words = json_loadb(error, (size_t)(end - error), JSON_DECODE_ANY, NULL);
        const enum status s = json_is_string(words) ? gave_up(json_string_value(words), json_string_length(words), err)
                                                    : gave_up(error, (size_t)(end - error), err);
        json_decref(words);
        return s;
    }
    char text[EXCERPT_SIZE];
    if (!at)
        return fail(err, STATUS_FORMAT, "there is no \"logits\" in %s", excerpt(text, line, length));
    if (*at != '[')
        return fail(err, STATUS_FORMAT, "\"logits\" is %s, expected a list of rows",
                    excerpt(text, at, strnlen(at, 20)));
    const size_t found = count_rows(at);
    const bool all = !rows || found != n_rows;
    if (found != n && all) {
        if (rows)
            return fail(err, STATUS_FORMAT,
                        "\"logits\" has %zu rows, expected the %zu asked for, or one for each of the "
                        "%zu tokens",
                        found, n_rows, n);
        return fail(err, STATUS_FORMAT, "\"logits\" has %zu rows, expected %zu: one for each token", found, n);
    }
    at = skip_blank(at + 1);
    size_t taken = 0;
    for (size_t row = 0; row < found; row++) {
        const bool wanted = !all || !rows || (taken < n_rows && rows[taken] == row);
        size_t count;
        if (!read_row(wanted ? logits + taken * V : NULL, &count, &at, V))
            return wrong_entry(at, row, err);
        if (count != V)
            return fail(err, STATUS_FORMAT,
                        "row %zu of \"logits\" has %zu numbers, expected %zu: one for each symbol of "
                        "the vocabulary",
                        row, count, V);
        taken += wanted;
        at = skip_blank(at);
        if (*at != (row + 1 < found ? ',' : ']'))
            return wrong_entry(at, row, err);
        at = skip_blank(at + 1);
    }
    return STATUS_OK;
}
