/* Reads tokenizer.json, declared in tokenizer.h: the vocabulary; what stands around it is tokenizer_frame's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"
#include "text/tokenizer_frame.h"

/* Ids that stand for nothing may lie anywhere below. */
#define IDS_AT_MOST ((size_t)UTF8_CODE_POINTS)

/* A vocabulary in the making: what is known of each id. */
struct draft {
    const char *name;
    uint32_t *symbol; /* (V), TOKENIZER_NOTHING at first */
    bool *taken;      /* (V) */
    size_t V;
    uint32_t *byte_plus_one; /* (UTF8_CODE_POINTS) of each character of the byte-level alphabet; NULL for characters */
};

/* The code point that a key of the vocabulary consists of; TOKENIZER_NOTHING when it is not exactly one. */
static uint32_t single_code(const char *key)
{
    uint32_t code;
    const size_t n = strlen(key);
    return n > 0 && utf8_decode(&code, (const uint8_t *)key, n) == n ? code : TOKENIZER_NOTHING;
}

/* An id as the file has it. */
static enum status read_id(size_t *id, const json_t *value, const char *key, size_t most, const char *name,
                           struct error *err)
{
    const struct tokenizer_frame_text shown = tokenizer_frame_show(key);
    if (!json_is_integer(value))
        return fail(err, STATUS_FORMAT, "%s: the id of \"%s\" is not a whole number", name, shown.text);
    const json_int_t number = json_integer_value(value);
    if (number < 0 || (uint64_t)number >= most)
        return fail(err, STATUS_FORMAT, "%s: the id of \"%s\" is %lld, expected 0 to %zu", name, shown.text,
                    (long long)number, most - 1);
    *id = (size_t)number;
    return STATUS_OK;
}

static const char *content_of(const json_t *added)
{
    return json_string_value(json_object_get(added, "content"));
}

/* One more than the highest id, of the vocabulary and of the tokens added to it. */
static enum status count_ids(size_t *V, json_t *vocab, const json_t *added, const char *name, struct error *err)
{
    const char *key;
    json_t *value;
    size_t id = 0, i;
    enum status s = STATUS_OK;
    *V = 0;
    json_object_foreach(vocab, key, value)
    {
        s = read_id(&id, value, key, IDS_AT_MOST, name, err);
        if (s != STATUS_OK)
            return s;
        *V = id + 1 > *V ? id + 1 : *V;
    }
    json_array_foreach(added, i, value)
    {
        if (!content_of(value))
            return fail(err, STATUS_FORMAT, "%s: added_tokens: entry %zu has no content", name, i);
        s = read_id(&id, json_object_get(value, "id"), content_of(value), IDS_AT_MOST, name, err);
        if (s != STATUS_OK)
            return s;
        *V = id + 1 > *V ? id + 1 : *V;
    }
    return STATUS_OK;
}

static enum status put_entry(struct draft *d, const char *key, size_t id, struct error *err)
{
    const struct tokenizer_frame_text shown = tokenizer_frame_show(key);
    if (d->taken[id])
        return fail(err, STATUS_FORMAT, "%s: \"%s\" has the id %zu of another entry", d->name, shown.text, id);
    d->taken[id] = true;
    const uint32_t code = single_code(key);
    if (code == TOKENIZER_NOTHING)
        return STATUS_OK; /* <pad> and the like: no text becomes it */
    if (!d->byte_plus_one) {
        d->symbol[id] = code;
        return STATUS_OK;
    }
    if (d->byte_plus_one[code] == 0)
        return fail(err, STATUS_FORMAT, "%s: model.vocab: \"%s\" stands for no byte in the byte-level alphabet",
                    d->name, shown.text);
    d->symbol[id] = d->byte_plus_one[code] - 1;
    return STATUS_OK;
}

/* A token beside the vocabulary is looked for in the text first, as it is spelt. One of a single character is that
 * character's symbol; a longer one is a symbol that nopeek never reads, since to it the text is characters. */
static enum status put_added(struct draft *d, json_t *vocab, const json_t *added, struct error *err)
{
    const char *content = content_of(added);
    const struct tokenizer_frame_text shown = tokenizer_frame_show(content);
    const size_t id = (size_t)json_integer_value(json_object_get(added, "id"));
    const uint32_t code = single_code(content);
    const json_t *known = json_object_get(vocab, content);
    if (code != TOKENIZER_NOTHING) {
        if (json_is_true(json_object_get(added, "lstrip")) || json_is_true(json_object_get(added, "rstrip")))
            return fail(err, STATUS_FORMAT, "%s: added_tokens: \"%s\" swallows the blanks beside it (lstrip, rstrip)",
                        d->name, shown.text);
        if (d->byte_plus_one && code >= 0x80)
            return fail(err, STATUS_FORMAT, "%s: added_tokens: \"%s\" is a character of several bytes", d->name,
                        shown.text);
    }
    if (known) {
        if ((size_t)json_integer_value(known) == id)
            return STATUS_OK;
        return fail(err, STATUS_FORMAT, "%s: added_tokens: \"%s\" has the id %zu, but another in model.vocab", d->name,
                    shown.text, id);
    }
    if (d->taken[id])
        return fail(err, STATUS_FORMAT, "%s: added_tokens: \"%s\" has the id %zu of another entry", d->name, shown.text,
                    id);
    d->taken[id] = true;
    if (code != TOKENIZER_NOTHING)
        d->symbol[id] = code;
    return STATUS_OK;
}

static enum status fill(struct draft *d, json_t *vocab, const json_t *added, struct error *err)
{
    const char *key;
    json_t *value;
    size_t i;
    for (size_t id = 0; id < d->V; id++)
        d->symbol[id] = TOKENIZER_NOTHING;
    json_object_foreach(vocab, key, value)
    {
        const enum status s = put_entry(d, key, (size_t)json_integer_value(value), err);
        if (s != STATUS_OK)
            return s;
    }
    json_array_foreach(added, i, value)
    {
        const enum status s = put_added(d, vocab, value, err);
        if (s != STATUS_OK)
            return s;
    }
    return STATUS_OK;
}

/* The alphabet the other way round. */
static enum status make_byte_table(struct draft *d, struct error *err)
{
    uint32_t alphabet[256];
    tokenizer_byte_alphabet(alphabet);
    d->byte_plus_one = calloc(UTF8_CODE_POINTS, sizeof *d->byte_plus_one);
    if (!d->byte_plus_one)
        return fail(err, STATUS_MEMORY, "%s: no memory for a table of bytes", d->name);
    for (uint32_t b = 0; b < 256; b++)
        d->byte_plus_one[alphabet[b]] = b + 1;
    return STATUS_OK;
}

static enum status read_symbols(struct tokenizer *t, enum tokenizer_kind kind, json_t *vocab, const json_t *added,
                                const char *name, struct error *err)
{
    struct draft d = {.name = name};
    enum status s = count_ids(&d.V, vocab, added, name, err);
    if (s != STATUS_OK)
        return s;
    if (d.V == 0)
        return fail(err, STATUS_FORMAT, "%s: model.vocab has 0 symbols", name);
    d.symbol = malloc(d.V * sizeof *d.symbol);
    d.taken = calloc(d.V, sizeof *d.taken);
    if (!d.symbol || !d.taken)
        s = fail(err, STATUS_MEMORY, "%s: no memory for a vocabulary of %zu symbols", name, d.V);
    if (s == STATUS_OK && kind == TOKENIZER_BYTES)
        s = make_byte_table(&d, err);
    if (s == STATUS_OK)
        s = fill(&d, vocab, added, err);
    free(d.taken);
    free(d.byte_plus_one);
    if (s == STATUS_OK)
        return tokenizer_make_order(t, kind, d.symbol, d.V, name, err);
    free(d.symbol);
    return s;
}

/* Bare ids: each is spelt as the number it is. */
static enum status read_numbers(struct tokenizer *t, json_t *vocab, const json_t *added, const char *name,
                                struct error *err)
{
    const size_t V = json_object_size(vocab);
    const char *key;
    json_t *value;
    if (V == 0 || V > TOKENIZER_MOST_IDS)
        return fail(err, STATUS_FORMAT, "%s: model.vocab has %zu symbols, expected 1 to %zu ids", name, V,
                    TOKENIZER_MOST_IDS);
    json_object_foreach(vocab, key, value)
    {
        size_t id = 0;
        char digits[24];
        const enum status s = read_id(&id, value, key, V, name, err);
        if (s != STATUS_OK)
            return s;
        snprintf(digits, sizeof digits, "%zu", id);
        if (strcmp(key, digits) != 0)
            return fail(err, STATUS_FORMAT,
                        "%s: model.vocab: \"%s\" is a word with the id %zu; between white space nopeek reads bare ids "
                        "only, spelt as the numbers they are: nopeek import --tokens ids takes the ids of such a model",
                        name, tokenizer_frame_show(key).text, id);
    }
    size_t i;
    json_array_foreach(added, i, value)
    {
        if (!content_of(value) || !json_object_get(vocab, content_of(value)))
            return fail(err, STATUS_FORMAT, "%s: added_tokens: entry %zu is no id of the vocabulary", name, i);
    }
    tokenizer_make_ids(t, V);
    return STATUS_OK;
}

enum status tokenizer_from_json(struct tokenizer *t, const json_t *json, const char *name, struct error *err)
{
    *t = (struct tokenizer){0};
    enum tokenizer_kind kind = TOKENIZER_CHARS;
    enum status s = tokenizer_frame_read(&kind, json, name, err);
    if (s != STATUS_OK)
        return s;
    json_t *vocab = json_object_get(json_object_get(json, "model"), "vocab");
    const json_t *added = json_object_get(json, "added_tokens");
    if (!json_is_object(vocab))
        return fail(err, STATUS_FORMAT, "%s: model.vocab is missing or no object", name);
    if (added && !json_is_null(added) && !json_is_array(added))
        return fail(err, STATUS_FORMAT, "%s: added_tokens is no list", name);
    struct tokenizer read = {0};
    s = kind == TOKENIZER_IDS ? read_numbers(&read, vocab, added, name, err)
                              : read_symbols(&read, kind, vocab, added, name, err);
    if (s == STATUS_OK)
        *t = read;
    return s;
}
