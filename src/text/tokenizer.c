#include "text/tokenizer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t BYTES = 256;

void tokenizer_free(struct tokenizer *t)
{
    free(t->symbol);
    t->symbol = NULL;
    t->size = 0;
}

void tokenizer_make_bytes(struct tokenizer *t)
{
    *t = (struct tokenizer){.kind = TOKENIZER_BYTES, .size = BYTES};
}

enum status tokenizer_make_set(struct tokenizer *t, const struct charset *set, const char *name, struct error *err)
{
    *t = (struct tokenizer){.kind = TOKENIZER_CHARS};
    const size_t size = charset_size(set);
    if (size == 0)
        return fail(err, STATUS_FORMAT, "%s: empty (0 bytes): a vocabulary needs at least one character", name);
    t->symbol = malloc(size * sizeof *t->symbol);
    if (!t->symbol)
        return fail(err, STATUS_MEMORY, "%s: no memory for a vocabulary of %zu characters", name, size);
    t->size = size;
    charset_list(t->symbol, set);
    return STATUS_OK;
}

enum status tokenizer_make_chars(struct tokenizer *t, const uint8_t *bytes, size_t n, const char *name,
                                 struct error *err)
{
    *t = (struct tokenizer){.kind = TOKENIZER_CHARS};
    struct charset *set = calloc(1, sizeof *set);
    if (!set)
        return fail(err, STATUS_MEMORY, "%s: no memory to gather its characters", name);
    size_t symbols = 0;
    const size_t end = charset_scan(set, &symbols, bytes, n, n);
    enum status s;
    if (end < n) {
        struct utf8_count before = {0};
        utf8_count(&before, bytes, end);
        s = utf8_fail(err, name, &before, bytes + end, n - end, TOKENIZER_ADVICE_NEW);
    } else {
        s = tokenizer_make_set(t, set, name, err);
    }
    free(set);
    return s;
}

/* Binary search; false when the vocabulary lacks the code point. */
static bool find(const struct tokenizer *t, uint32_t code, uint32_t *id)
{
    size_t low = 0, high = t->size;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->symbol[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    *id = (uint32_t)low;
    return low < t->size && t->symbol[low] == code;
}

enum status tokenizer_refuse(const struct tokenizer *t, const struct utf8_count *before, const uint8_t *bytes, size_t n,
                             const char *name, struct error *err)
{
    uint32_t code;
    if (utf8_decode(&code, bytes, n) == 0)
        return utf8_fail(err, name, before, bytes, n,
                         "convert it to UTF-8: the vocabulary is one of characters (one made with --tokens byte takes "
                         "any bytes)");
    char what[UTF8_DESCRIPTION_SIZE];
    utf8_describe(code, what);
    return fail(err, STATUS_FORMAT,
                "%s: the character %s at byte offset %zu (after %zu characters, on line %zu) is not among the %zu of "
                "the vocabulary; replace it, or train on a text that has it or with --tokens byte",
                name, what, before->bytes, before->characters, utf8_line(before), t->size);
}

enum status tokenizer_next(const struct tokenizer *t, uint32_t *id, const uint8_t *bytes, size_t n, size_t *at,
                           const char *name, struct error *err)
{
    assert(*at < n);
    if (t->kind == TOKENIZER_BYTES) {
        *id = bytes[(*at)++];
        return STATUS_OK;
    }
    uint32_t code;
    const size_t length = utf8_decode(&code, bytes + *at, n - *at);
    if (length == 0 || !find(t, code, id)) {
        struct utf8_count before = {0};
        utf8_count(&before, bytes, *at);
        return tokenizer_refuse(t, &before, bytes + *at, n - *at, name, err);
    }
    *at += length;
    return STATUS_OK;
}

enum status tokenizer_encode(const struct tokenizer *t, uint32_t **ids, size_t *count, const uint8_t *bytes, size_t n,
                             const char *name, struct error *err)
{
    *ids = NULL;
    *count = 0;
    if (n == 0)
        return STATUS_OK;
    /* Every symbol takes one byte that is no continuation, so this bounds them even where UTF-8 is invalid. */
    struct utf8_count all = {0};
    utf8_count(&all, bytes, n);
    const size_t room = t->kind == TOKENIZER_BYTES ? n : all.characters;
    uint32_t *out = calloc(room > 0 ? room : 1, sizeof *out);
    if (!out)
        return fail(err, STATUS_MEMORY, "%s: no memory for %zu symbols", name, room);
    size_t filled = 0;
    for (size_t at = 0; at < n; filled++) {
        const enum status s = tokenizer_next(t, &out[filled], bytes, n, &at, name, err);
        if (s != STATUS_OK) {
            free(out);
            return s;
        }
    }
    *ids = out;
    *count = filled;
    return STATUS_OK;
}

size_t tokenizer_decode(const struct tokenizer *t, uint32_t id, uint8_t out[4])
{
    assert(id < t->size);
    if (t->kind == TOKENIZER_CHARS)
        return utf8_encode(t->symbol[id], out);
    out[0] = (uint8_t)id;
    return 1;
}

void tokenizer_label(const struct tokenizer *t, uint32_t id, char out[TOKENIZER_LABEL_SIZE])
{
    assert(id < t->size);
    if (t->kind == TOKENIZER_CHARS)
        utf8_label(t->symbol[id], out);
    else if ((id >= ' ' && id < 127) || id == '\n' || id == '\r' || id == '\t')
        utf8_label(id, out);
    else
        snprintf(out, TOKENIZER_LABEL_SIZE, "0x%02X", (unsigned)id);
}

/* Appends to text[0 .. size), cutting what does not fit. */
static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* Appends the characters that a has and b has not: at most eight, then how many more. */
static void append_missing(char *text, size_t size, const struct tokenizer *a, const char *a_name,
                           const struct tokenizer *b)
{
    static const size_t shown = 8;
    size_t missing = 0;
    for (size_t i = 0; i < a->size; i++) {
        uint32_t id;
        if (find(b, a->symbol[i], &id))
            continue;
        char what[UTF8_DESCRIPTION_SIZE];
        utf8_describe(a->symbol[i], what);
        if (missing == 0)
            append(text, size, "; %s alone has %s", a_name, what);
        else if (missing < shown)
            append(text, size, ", %s", what);
        missing++;
    }
    if (missing > shown)
        append(text, size, " and %zu more", missing - shown);
}

static const char *kind_name(enum tokenizer_kind kind)
{
    return kind == TOKENIZER_BYTES ? "bytes" : "characters";
}

enum status tokenizer_same(const struct tokenizer *a, const char *a_name, const struct tokenizer *b, const char *b_name,
                           struct error *err)
{
    if (a->kind != b->kind)
        return fail(err, STATUS_FORMAT, "vocabularies differ: %s has one of %s, %s one of %s", a_name,
                    kind_name(a->kind), b_name, kind_name(b->kind));
    if (a->kind == TOKENIZER_BYTES ||
        (a->size == b->size && memcmp(a->symbol, b->symbol, a->size * sizeof *a->symbol) == 0))
        return STATUS_OK;
    char text[sizeof err->message] = "";
    append_missing(text, sizeof text, a, a_name, b);
    append_missing(text, sizeof text, b, b_name, a);
    return fail(err, STATUS_FORMAT, "vocabularies differ: %s has %zu characters, %s %zu%s", a_name, a->size, b_name,
                b->size, text);
}
