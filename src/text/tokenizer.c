#include "text/tokenizer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/numerals.h"

static const size_t BYTES = 256;

static const struct {
    const char *unit, *units, *option;
} words[] = {
    [TOKENIZER_CHARS] = {"character", "characters", "char"},
    [TOKENIZER_BYTES] = {"byte", "bytes", "byte"},
    [TOKENIZER_IDS] = {"id", "ids", "ids"},
};

const char *tokenizer_unit(enum tokenizer_kind kind)
{
    return words[kind].unit;
}

const char *tokenizer_units(enum tokenizer_kind kind)
{
    return words[kind].units;
}

const char *tokenizer_option(enum tokenizer_kind kind)
{
    return words[kind].option;
}

void tokenizer_free(struct tokenizer *t)
{
    free(t->symbol);
    free(t->order);
    t->symbol = t->order = NULL;
    t->size = t->known = 0;
}

void tokenizer_make_bytes(struct tokenizer *t)
{
    *t = (struct tokenizer){.kind = TOKENIZER_BYTES, .size = BYTES};
}

void tokenizer_make_ids(struct tokenizer *t, size_t V)
{
    assert(V > 0 && V <= TOKENIZER_MOST_IDS);
    *t = (struct tokenizer){.kind = TOKENIZER_IDS, .size = V};
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

bool tokenizer_find(const struct tokenizer *t, uint32_t symbol, uint32_t *id)
{
    assert(t->kind != TOKENIZER_IDS);
    if (!t->symbol) {
        *id = symbol;
        return symbol < t->size;
    }
    size_t low = 0, high = t->order ? t->known : t->size;
    const size_t end = high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->symbol[t->order ? t->order[middle] : middle] < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    *id = t->order && low < end ? t->order[low] : (uint32_t)low;
    return low < end && t->symbol[*id] == symbol;
}

enum status tokenizer_refuse(const struct tokenizer *t, const struct utf8_count *before, const uint8_t *bytes, size_t n,
                             const char *name, struct error *err)
{
    uint32_t code;
    if (t->kind == TOKENIZER_IDS)
        return numerals_fail(err, name, before, bytes, n, t->size);
    if (t->kind == TOKENIZER_BYTES)
        return fail(err, STATUS_FORMAT,
                    "%s: the byte 0x%02X at byte offset %zu (on line %zu) is not among the %zu of the vocabulary", name,
                    (unsigned)bytes[0], before->bytes, utf8_line(before), tokenizer_count(t));
    if (utf8_decode(&code, bytes, n) == 0)
        return utf8_fail(err, name, before, bytes, n,
                         "convert it to UTF-8: the vocabulary is one of characters (one made with --tokens byte takes "
                         "any bytes)");
    char what[UTF8_DESCRIPTION_SIZE];
    utf8_describe(code, what);
    return fail(err, STATUS_FORMAT,
                "%s: the character %s at byte offset %zu (after %zu character%s, on line %zu) is not among the %zu of "
                "the vocabulary; replace it, or train on a text that has it or with --tokens byte",
                name, what, before->bytes, before->characters, before->characters == 1 ? "" : "s", utf8_line(before),
                tokenizer_count(t));
}

/* Length of the symbol at bytes[0], 0 when the vocabulary has none that stands there. */
static size_t read_symbol(const struct tokenizer *t, uint32_t *id, const uint8_t *bytes, size_t n)
{
    if (t->kind == TOKENIZER_IDS) {
        uint64_t number;
        const size_t length = numerals_read(&number, bytes, n);
        *id = (uint32_t)number;
        return number < t->size ? length : 0;
    }
    if (t->kind == TOKENIZER_BYTES)
        return tokenizer_find(t, bytes[0], id) ? 1 : 0;
    uint32_t code;
    const size_t length = utf8_decode(&code, bytes, n);
    return length > 0 && tokenizer_find(t, code, id) ? length : 0;
}

enum status tokenizer_next(const struct tokenizer *t, uint32_t *id, const uint8_t *bytes, size_t n, size_t *at,
                           const char *name, struct error *err)
{
    assert(*at < n);
    const size_t length = read_symbol(t, id, bytes + *at, n - *at);
    if (length == 0) {
        struct utf8_count before = {0};
        utf8_count(&before, bytes, *at);
        return tokenizer_refuse(t, &before, bytes + *at, n - *at, name, err);
    }
    *at += length;
    if (t->kind == TOKENIZER_IDS)
        *at = numerals_skip(bytes, n, *at);
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
    const size_t start = t->kind == TOKENIZER_IDS ? numerals_skip(bytes, n, 0) : 0;
    if (start == n)
        return STATUS_OK;
    uint32_t *out = calloc(room > 0 ? room : 1, sizeof *out);
    if (!out)
        return fail(err, STATUS_MEMORY, "%s: no memory for %zu symbols", name, room);
    size_t filled = 0;
    for (size_t at = start; at < n; filled++) {
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

size_t tokenizer_decode(const struct tokenizer *t, uint32_t id, uint8_t out[TOKENIZER_SYMBOL_SIZE])
{
    assert(id < t->size);
    if (t->kind == TOKENIZER_IDS) {
        char digits[TOKENIZER_SYMBOL_SIZE + 1];
        const size_t n = (size_t)snprintf(digits, sizeof digits, "%lu", (unsigned long)id);
        memcpy(out, digits, n);
        return n;
    }
    if (!tokenizer_knows(t, id))
        return 0;
    if (t->kind == TOKENIZER_CHARS)
        return utf8_encode(t->symbol[id], out);
    out[0] = (uint8_t)(t->symbol ? t->symbol[id] : id);
    return 1;
}

void tokenizer_label(const struct tokenizer *t, uint32_t id, char out[TOKENIZER_LABEL_SIZE])
{
    assert(id < t->size);
    const uint32_t symbol = t->symbol ? t->symbol[id] : id;
    if (t->kind == TOKENIZER_IDS || symbol == TOKENIZER_NOTHING)
        snprintf(out, TOKENIZER_LABEL_SIZE, "#%lu", (unsigned long)id);
    else if (t->kind == TOKENIZER_CHARS || (symbol >= ' ' && symbol < 127) || symbol == '\n' || symbol == '\r' ||
             symbol == '\t')
        utf8_label(symbol, out);
    else
        snprintf(out, TOKENIZER_LABEL_SIZE, "0x%02X", (unsigned)symbol);
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

/* Appends the symbols that a has and b has not, at most eight, then how many more; returns how many there are. */
static size_t append_missing(char *text, size_t size, const struct tokenizer *a, const char *a_name,
                             const struct tokenizer *b)
{
    static const size_t shown = 8;
    size_t missing = 0;
    for (size_t i = 0; i < a->size; i++) {
        uint32_t id;
        const uint32_t symbol = a->symbol ? a->symbol[i] : (uint32_t)i;
        if (symbol == TOKENIZER_NOTHING || tokenizer_find(b, symbol, &id))
            continue;
        char what[UTF8_DESCRIPTION_SIZE];
        if (a->kind == TOKENIZER_CHARS)
            utf8_describe(symbol, what);
        else
            snprintf(what, sizeof what, "0x%02X", (unsigned)symbol);
        if (missing == 0)
            append(text, size, "; %s alone has %s", a_name, what);
        else if (missing < shown)
            append(text, size, ", %s", what);
        missing++;
    }
    if (missing > shown)
        append(text, size, " and %zu more", missing - shown);
    return missing;
}

enum status tokenizer_same(const struct tokenizer *a, const char *a_name, const struct tokenizer *b, const char *b_name,
                           struct error *err)
{
    if (a->kind != b->kind)
        return fail(err, STATUS_FORMAT, "vocabularies differ: %s has one of %s, %s one of %s", a_name,
                    tokenizer_units(a->kind), b_name, tokenizer_units(b->kind));
    size_t missing = 0;
    char text[sizeof err->message] = "";
    if (a->kind != TOKENIZER_IDS) {
        missing += append_missing(text, sizeof text, a, a_name, b);
        missing += append_missing(text, sizeof text, b, b_name, a);
    }
    if (a->kind == TOKENIZER_IDS ? a->size == b->size : missing == 0)
        return STATUS_OK;
    return fail(err, STATUS_FORMAT, "vocabularies differ: %s has %zu %s, %s %zu%s", a_name, tokenizer_count(a),
                tokenizer_units(a->kind), b_name, tokenizer_count(b), text);
}
