/* tokenizer.json and tokenizer_config.json, declared in tokenizer.h. The format is that of
 * https://github.com/huggingface/tokenizers; every object has the fields that the library itself writes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

/* Longer than one character, so that it never is a symbol: the library then refuses an unknown character. */
static const char UNKNOWN[] = "<unknown>";
static const char VERSION[] = "1.0";

/* GPT-2's byte-level alphabet (Radford et al. 2019): each byte as a character that can be seen. Those that print
 * in Latin-1 stand for themselves, the others for U+0100 and up, in order. */
static void byte_alphabet(uint32_t code[256])
{
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; b++) {
        const bool prints = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        code[b] = prints ? b : next++;
    }
}

/* {"a": 0, "b": 1, ...}, or NULL when memory is refused. */
static json_t *vocabulary(const uint32_t *codes, size_t n)
{
    json_t *vocab = json_object();
    for (size_t id = 0; vocab && id < n; id++) {
        uint8_t bytes[4];
        char key[5] = "";
        memcpy(key, bytes, utf8_encode(codes[id], bytes));
        if (json_object_set_new(vocab, key, json_integer((json_int_t)id)) != 0) {
            json_decref(vocab);
            return NULL;
        }
    }
    return vocab;
}

/* How text becomes the words that the model looks up, and how words become text again. */
static json_t *pre_tokenizer(enum tokenizer_kind kind)
{
    if (kind == TOKENIZER_BYTES)
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                         "use_regex", 0);
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", "[\\s\\S]", "behavior",
                     "Isolated", "invert", 0);
}

static json_t *decoder(enum tokenizer_kind kind)
{
    if (kind == TOKENIZER_BYTES)
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                         "use_regex", 0);
    return json_pack("{s:s}", "type", "Fuse");
}

/* Takes the reference to vocab. */
static json_t *model(enum tokenizer_kind kind, json_t *vocab)
{
    if (kind == TOKENIZER_CHARS)
        return json_pack("{s:s, s:o, s:s}", "type", "WordLevel", "vocab", vocab, "unk_token", UNKNOWN);
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:[]}", "type", "BPE", "dropout", "unk_token",
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", 0, "vocab", vocab, "merges");
}

json_t *tokenizer_to_json(const struct tokenizer *t)
{
    uint32_t alphabet[256];
    byte_alphabet(alphabet);
    json_t *vocab = t->kind == TOKENIZER_BYTES ? vocabulary(alphabet, 256) : vocabulary(t->symbol, t->size);
    if (!vocab)
        return NULL;
    return json_pack("{s:s, s:n, s:n, s:[], s:n, s:o, s:n, s:o, s:o}", "version", VERSION, "truncation", "padding",
                     "added_tokens", "normalizer", "pre_tokenizer", pre_tokenizer(t->kind), "post_processor", "decoder",
                     decoder(t->kind), "model", model(t->kind, vocab));
}

json_t *tokenizer_config_json(size_t block_size)
{
    /* model_input_names: without it transformers adds token_type_ids, which GPT-2 would take for tokens and add
     * to the embeddings. */
    return json_pack("{s:s, s:b, s:I, s:[s,s]}", "tokenizer_class", "PreTrainedTokenizerFast",
                     "clean_up_tokenization_spaces", 0, "model_max_length", (json_int_t)block_size, "model_input_names",
                     "input_ids", "attention_mask");
}

/* A string from a file, safe in a message: its first characters as labels. */
#define SHOWN_CHARACTERS 24
struct shown {
    char text[SHOWN_CHARACTERS * UTF8_LABEL_SIZE + 4];
};

static struct shown show(const char *string)
{
    struct shown out = {""};
    const size_t n = strlen(string);
    size_t used = 0;
    for (size_t at = 0, k = 0; at < n; k++) {
        uint32_t code;
        const size_t length = utf8_decode(&code, (const uint8_t *)string + at, n - at);
        if (length == 0 || k == SHOWN_CHARACTERS) {
            memcpy(out.text + used, "...", 4);
            break;
        }
        utf8_label(code, out.text + used);
        used += strlen(out.text + used);
        at += length;
    }
    return out;
}

static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

/* STATUS_FORMAT unless every named member is missing, null, false or an empty array. */
static enum status require_nothing(const json_t *object, const char *const *keys, size_t n, const char *name,
                                   const char *where, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!is_nothing(json_object_get(object, keys[i])))
            return fail(err, STATUS_FORMAT,
                        "%s: %s%s is set, but nopeek's vocabulary takes text as it is, symbol by symbol", name, where,
                        keys[i]);
    return STATUS_OK;
}

/* STATUS_FORMAT unless json has this member, just as nopeek writes it. Takes the reference to expected. */
static enum status require_equal(const json_t *json, const char *key, json_t *expected, const char *name,
                                 struct error *err)
{
    if (!expected)
        return fail(err, STATUS_MEMORY, "%s: no memory to check %s", name, key);
    const bool equal = json_equal(json_object_get(json, key), expected);
    char *text = equal ? NULL : json_dumps(expected, JSON_COMPACT);
    json_decref(expected);
    if (equal)
        return STATUS_OK;
    const enum status s =
        fail(err, STATUS_FORMAT, "%s: %s is not the one that nopeek writes: expected %s", name, key, text ? text : "");
    free(text);
    return s;
}

/* The code point that a key of the vocabulary consists of; 0 when it is not exactly one. */
static uint32_t single_code(const char *key)
{
    uint32_t code;
    const size_t n = strlen(key);
    return n > 0 && utf8_decode(&code, (const uint8_t *)key, n) == n ? code : 0;
}

/* symbol[id] = code point for every member of vocab; symbol (size) begins with all zero. */
static enum status read_vocabulary(uint32_t *symbol, size_t size, json_t *vocab, const char *name, struct error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(vocab, key, value)
    {
        const uint32_t code = single_code(key);
        if (code == 0)
            return fail(err, STATUS_FORMAT, "%s: model.vocab: \"%s\" is not a single character", name, show(key).text);
        char what[UTF8_DESCRIPTION_SIZE];
        utf8_describe(code, what);
        if (!json_is_integer(value))
            return fail(err, STATUS_FORMAT, "%s: model.vocab: the id of %s is not a whole number", name, what);
        const json_int_t id = json_integer_value(value);
        if (id < 0 || (uint64_t)id >= size)
            return fail(err, STATUS_FORMAT,
                        "%s: model.vocab: the id of %s is %lld, but %zu symbols have ids 0 to %zu without gaps", name,
                        what, (long long)id, size, size - 1);
        if (symbol[id] != 0) {
            char other[UTF8_DESCRIPTION_SIZE];
            utf8_describe(symbol[id], other);
            return fail(err, STATUS_FORMAT, "%s: model.vocab: %s and %s have the same id %lld", name, other, what,
                        (long long)id);
        }
        symbol[id] = code;
    }
    return STATUS_OK;
}

static enum status check_order(const uint32_t *symbol, size_t size, enum tokenizer_kind kind, const char *name,
                               struct error *err)
{
    uint32_t alphabet[256];
    byte_alphabet(alphabet);
    for (size_t id = 0; id < size; id++) {
        char what[UTF8_DESCRIPTION_SIZE];
        utf8_describe(symbol[id], what);
        if (kind == TOKENIZER_BYTES && symbol[id] != alphabet[id])
            return fail(err, STATUS_FORMAT,
                        "%s: model.vocab: id %zu is %s, but in the byte-level alphabet byte %zu is U+%04X", name, id,
                        what, id, (unsigned)alphabet[id]);
        if (kind == TOKENIZER_CHARS && id > 0 && symbol[id] <= symbol[id - 1])
            return fail(err, STATUS_FORMAT,
                        "%s: model.vocab: ids must follow the order of code points, but id %zu is %s after U+%04X",
                        name, id, what, (unsigned)symbol[id - 1]);
    }
    return STATUS_OK;
}

/* Everything around the vocabulary; tells the kind. */
static enum status check_frame(enum tokenizer_kind *kind, const json_t *json, const char *name, struct error *err)
{
    if (!json_is_object(json))
        return fail(err, STATUS_FORMAT, "%s: not a JSON object", name);
    const char *version = json_string_value(json_object_get(json, "version"));
    if (!version || strcmp(version, VERSION) != 0)
        return fail(err, STATUS_FORMAT, "%s: version is %s; nopeek reads tokenizer.json version %s", name,
                    version ? show(version).text : "missing or no string", VERSION);
    const json_t *inner = json_object_get(json, "model");
    const char *type = json_string_value(json_object_get(inner, "type"));
    if (type && strcmp(type, "WordLevel") == 0)
        *kind = TOKENIZER_CHARS;
    else if (type && strcmp(type, "BPE") == 0)
        *kind = TOKENIZER_BYTES;
    else
        return fail(err, STATUS_FORMAT,
                    "%s: model.type is %s; nopeek reads WordLevel over single characters, and BPE without merges "
                    "over bytes",
                    name, type ? show(type).text : "missing or no string");

    static const char *const around[] = {"normalizer", "post_processor", "added_tokens"};
    static const char *const inside[] = {
        "merges",        "dropout",       "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
        "byte_fallback", "ignore_merges",
    };
    enum status s = require_nothing(json, around, sizeof around / sizeof around[0], name, "", err);
    if (s == STATUS_OK)
        s = require_nothing(inner, inside, sizeof inside / sizeof inside[0], name, "model.", err);
    if (s == STATUS_OK)
        s = require_equal(json, "pre_tokenizer", pre_tokenizer(*kind), name, err);
    if (s == STATUS_OK)
        s = require_equal(json, "decoder", decoder(*kind), name, err);
    return s;
}

static enum status check_vocabulary(const json_t *vocab, const char *unknown, enum tokenizer_kind kind,
                                    const char *name, struct error *err)
{
    if (!json_is_object(vocab))
        return fail(err, STATUS_FORMAT, "%s: model.vocab is missing or no object", name);
    const size_t size = json_object_size(vocab);
    if (kind == TOKENIZER_BYTES && size != 256)
        return fail(err, STATUS_FORMAT, "%s: model.vocab has %zu symbols; a vocabulary of bytes has 256", name, size);
    if (size == 0 || size > UTF8_CODE_POINTS)
        return fail(err, STATUS_FORMAT, "%s: model.vocab has %zu symbols; expected 1 to %u characters", name, size,
                    (unsigned)UTF8_CODE_POINTS);
    if (unknown && json_object_get(vocab, unknown))
        return fail(err, STATUS_FORMAT,
                    "%s: model.unk_token \"%s\" is in the vocabulary, so that unknown characters would be taken for "
                    "it",
                    name, show(unknown).text);
    return STATUS_OK;
}

enum status tokenizer_from_json(struct tokenizer *t, const json_t *json, const char *name, struct error *err)
{
    *t = (struct tokenizer){0};
    enum tokenizer_kind kind = TOKENIZER_CHARS;
    enum status s = check_frame(&kind, json, name, err);
    if (s != STATUS_OK)
        return s;
    const json_t *inner = json_object_get(json, "model");
    json_t *vocab = json_object_get(inner, "vocab");
    s = check_vocabulary(vocab, json_string_value(json_object_get(inner, "unk_token")), kind, name, err);
    if (s != STATUS_OK)
        return s;

    const size_t size = json_object_size(vocab);
    uint32_t *symbol = calloc(size, sizeof *symbol);
    if (!symbol)
        return fail(err, STATUS_MEMORY, "%s: no memory for a vocabulary of %zu symbols", name, size);
    s = read_vocabulary(symbol, size, vocab, name, err);
    if (s == STATUS_OK)
        s = check_order(symbol, size, kind, name, err);
    if (s != STATUS_OK || kind == TOKENIZER_BYTES) {
        free(symbol);
        if (s == STATUS_OK)
            tokenizer_make_bytes(t);
        return s;
    }
    *t = (struct tokenizer){.kind = kind, .size = size, .symbol = symbol};
    return STATUS_OK;
}
