#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

static struct tokenizer chars_of(const char *text)
{
    struct tokenizer t;
    struct error err;
    cr_assert_eq(tokenizer_make_chars(&t, (const uint8_t *)text, strlen(text), "text", &err), STATUS_OK);
    return t;
}

/* Through text, as a file would. */
static json_t *through_text(json_t *json, size_t flags)
{
    cr_assert_not_null(json);
    char *text = json_dumps(json, flags);
    json_decref(json);
    cr_assert_not_null(text);
    json_error_t e;
    json_t *back = json_loads(text, JSON_REJECT_DUPLICATES, &e);
    cr_assert_not_null(back, "%s", e.text);
    free(text);
    return back;
}

static void expect_round_trip(const struct tokenizer *t)
{
    static const size_t flags[] = {JSON_COMPACT, JSON_INDENT(2), JSON_ENSURE_ASCII, JSON_SORT_KEYS};
    for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
        json_t *json = through_text(tokenizer_to_json(t), flags[k]);
        struct tokenizer back;
        struct error err;
        cr_assert_eq(tokenizer_from_json(&back, json, "f", &err), STATUS_OK, "%s", err.message);
        json_decref(json);
        cr_assert_eq(back.kind, t->kind);
        cr_assert_eq(back.size, t->size);
        cr_assert_eq(tokenizer_same(t, "a", &back, "b", &err), STATUS_OK);
        tokenizer_free(&back);
    }
}

Test(tokenizer_json, awkward_characters_survive)
{
    struct tokenizer t =
        chars_of("\x01\t\n\r \"'\\/<&>\x7F\xC2\x85\xC2\xA0\xCC\x81\xD7\xA9\xE2\x80\x8D\xE2\x80\xA8\xE2\x80"
                 "\xA9\xEF\xB8\x8F\xEF\xBB\xBF\xEF\xBF\xBE\xEF\xBF\xBF\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF");
    cr_assert_eq(t.size, 26u);
    expect_round_trip(&t);
    tokenizer_free(&t);
}

Test(tokenizer_json, one_character_and_bytes_survive)
{
    struct tokenizer t = chars_of("x");
    expect_round_trip(&t);
    tokenizer_free(&t);
    tokenizer_make_bytes(&t);
    expect_round_trip(&t);
}

Test(tokenizer_json, every_code_point_at_once_survives)
{
    struct tokenizer t = {.kind = TOKENIZER_CHARS, .size = UTF8_CODE_POINTS - 2049};
    t.symbol = malloc(t.size * sizeof *t.symbol);
    for (uint32_t i = 0; i < t.size; i++)
        t.symbol[i] = i + 1 < 0xD800 ? i + 1 : i + 2049;
    json_t *json = tokenizer_to_json(&t);
    struct tokenizer back;
    struct error err;
    cr_assert_eq(tokenizer_from_json(&back, json, "f", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(tokenizer_same(&t, "a", &back, "b", &err), STATUS_OK);
    json_decref(json);
    tokenizer_free(&back);
    tokenizer_free(&t);
}

/* The text that the tokenizers library was seen to read as intended. */
Test(tokenizer_json, is_written_as_the_library_writes_it)
{
    struct tokenizer t = chars_of("b\na");
    json_t *json = tokenizer_to_json(&t);
    char *text = json_dumps(json, JSON_COMPACT);
    cr_assert_str_eq(text, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"
                           "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                           "\"[\\\\s\\\\S]\"},\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":null,"
                           "\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"\\n\":0,"
                           "\"a\":1,\"b\":2},\"unk_token\":\"<unknown>\"}}");
    free(text);
    json_decref(json);
    tokenizer_free(&t);
}

Test(tokenizer_json, byte_alphabet_is_gpt2s)
{
    struct tokenizer t;
    tokenizer_make_bytes(&t);
    json_t *json = tokenizer_to_json(&t);
    const json_t *vocab = json_object_get(json_object_get(json, "model"), "vocab");
    cr_assert_eq(json_object_size(vocab), 256u);
    static const struct {
        const char *key;
        int byte;
    } known[] = {{"!", '!'},         {"~", '~'},        {"\xC4\xA0", ' '},  {"\xC4\x8A", '\n'}, {"\xC4\x80", 0},
                 {"\xC4\xA1", 0x7F}, {"\xC2\xA1", 161}, {"\xC5\x83", 0xAD}, {"\xC3\xBF", 255},  {"\xC5\x82", 0xA0}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        cr_assert_eq(json_integer_value(json_object_get(vocab, known[k].key)), known[k].byte, "%s", known[k].key);
    json_decref(json);
}

Test(tokenizer_json, config_states_context_and_keeps_blanks)
{
    json_t *json = tokenizer_config_json(256);
    cr_assert_str_eq(json_string_value(json_object_get(json, "tokenizer_class")), "PreTrainedTokenizerFast");
    cr_assert(json_is_false(json_object_get(json, "clean_up_tokenization_spaces")));
    cr_assert_eq(json_integer_value(json_object_get(json, "model_max_length")), 256);
    cr_assert_eq(json_array_size(json_object_get(json, "model_input_names")), 2u);
    json_decref(json);
}

/* A good file with one thing changed: `path` is keys joined by blanks; value NULL removes. */
static void change(json_t *json, const char *path, json_t *value)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%s", path);
    json_t *at = json;
    char *key = strtok(copy, " ");
    for (char *next; (next = strtok(NULL, " ")); key = next)
        at = json_object_get(at, key);
    cr_assert(json_is_object(at));
    if (value)
        cr_assert_eq(json_object_set_new(at, key, value), 0);
    else
        cr_assert_eq(json_object_del(at, key), 0);
}

static void expect_refusal(json_t *json, const char *words)
{
    struct tokenizer t = {.size = 5};
    struct error err;
    const enum status s = tokenizer_from_json(&t, json, "tokenizer.json", &err);
    cr_assert_eq(s, STATUS_FORMAT, "accepted, expected: %s", words);
    cr_assert_eq(strncmp(err.message, "tokenizer.json: ", 16), 0, "%s", err.message);
    cr_assert(strstr(err.message, words), "\"%s\" lacks \"%s\"", err.message, words);
    cr_assert_null(t.symbol);
    cr_assert_eq(t.size, 0u);
    json_decref(json);
}

static void refuse_changed(bool bytes, const char *path, json_t *value, const char *words)
{
    struct tokenizer t;
    if (bytes)
        tokenizer_make_bytes(&t);
    else
        t = chars_of("abc");
    json_t *json = tokenizer_to_json(&t);
    tokenizer_free(&t);
    change(json, path, value);
    expect_refusal(json, words);
}

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    cr_assert_not_null(json, "%s", text);
    return json;
}

Test(tokenizer_json, hostile_vocabularies_are_refused)
{
    static const struct {
        const char *vocab, *words;
    } cases[] = {
        {"{}", "has 0 symbols"},
        {"[]", "model.vocab is missing or no object"},
        {"null", "model.vocab is missing or no object"},
        {"{\"a\":0,\"b\":0}", "\"b\" has the id 0 of another entry"},
        {"{\"a\":0,\"<pad>\":0}", "\"<pad>\" has the id 0 of another entry"},
        {"{\"a\":0,\"b\":-1}", "the id of \"b\" is -1, expected 0 to 1114111"},
        {"{\"a\":0,\"b\":1114112}", "the id of \"b\" is 1114112"},
        {"{\"a\":0,\"b\":9223372036854775807}", "is 9223372036854775807"},
        {"{\"a\":0,\"b\":4294967297}", "is 4294967297"},
        {"{\"a\":0,\"b\":1.0}", "the id of \"b\" is not a whole number"},
        {"{\"a\":0,\"b\":\"1\"}", "is not a whole number"},
        {"{\"a\":0,\"b\":null}", "is not a whole number"},
        {"{\"a\":0,\"b\":true}", "is not a whole number"},
        {"{\"ab\":0,\"bc\":1}", "no id of the vocabulary stands for a single character"},
        {"{\"e\\u0301\":1}", "no id of the vocabulary stands for a single character"},
        {"{\"\\n\\u00e9\\u001b[2J\":-1}", "\"\\n\xC3\xA9U+001B[2J\" is -1"},
        {"{\"abcdefghijklmnopqrstuvwxyz\":-1}", "\"abcdefghijklmnopqrstuvwx...\" is -1"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        refuse_changed(false, "model vocab", parsed(cases[k].vocab), cases[k].words);
    refuse_changed(false, "model vocab", NULL, "model.vocab is missing");
}

Test(tokenizer_json, what_would_change_text_or_ids_is_refused)
{
    refuse_changed(false, "normalizer", parsed("{\"type\":\"Lowercase\"}"), "normalizer is Lowercase, which changes");
    refuse_changed(false, "added_tokens", parsed("{}"), "added_tokens is no list");
    refuse_changed(false, "pre_tokenizer", parsed("{\"type\":\"Whitespace\"}"), "pre_tokenizer is Whitespace, which");
    refuse_changed(false, "pre_tokenizer", NULL, "pre_tokenizer does not part the text into single characters");
    refuse_changed(false, "pre_tokenizer pattern Regex", json_string(".+"), "pre_tokenizer does not part the text");
    refuse_changed(false, "pre_tokenizer pattern Regex", json_string("\\X"), "pre_tokenizer does not part the text");
    refuse_changed(false, "model type", json_string("Unigram"), "model.type is Unigram");
    refuse_changed(false, "model type", json_integer(3), "model.type is missing or no string");
    refuse_changed(false, "model", json_string("WordLevel"), "model.type is missing");
    refuse_changed(false, "model", NULL, "model.type is missing");
    refuse_changed(false, "version", json_string("2.0"), "version is 2.0; nopeek reads tokenizer.json version 1.0");
    refuse_changed(false, "version", NULL, "version is missing");
    expect_refusal(parsed("[1,2]"), "not a JSON object");
    expect_refusal(parsed("3"), "not a JSON object");
    expect_refusal(json_object(), "version is missing");
    struct tokenizer t;
    struct error err;
    cr_assert_eq(tokenizer_from_json(&t, NULL, "f", &err), STATUS_FORMAT);
}

Test(tokenizer_json, hostile_byte_variants_are_refused)
{
    refuse_changed(true, "model merges", parsed("[[\"a\",\"b\"]]"), "model.merges has 1 pairs");
    refuse_changed(true, "model merges", parsed("[\"a b\"]"), "model.merges has 1 pairs");
    refuse_changed(true, "model dropout", json_real(0.1), "model.dropout is set");
    refuse_changed(true, "model continuing_subword_prefix", json_string("##"), "continuing_subword_prefix is set");
    refuse_changed(true, "model end_of_word_suffix", json_string("</w>"), "end_of_word_suffix is set");
    refuse_changed(true, "pre_tokenizer add_prefix_space", json_true(), "puts a blank before the text");
    refuse_changed(true, "pre_tokenizer add_prefix_space", NULL, "puts a blank before the text");
    refuse_changed(true, "model vocab a", json_integer('b'), "has the id 98 of another entry");
    refuse_changed(true, "model vocab \xD0\x96", json_integer(256), "stands for no byte in the byte-level alphabet");
    refuse_changed(true, "model type", json_string("WordLevel"), "pre_tokenizer does not part the text");
}

/* Refuses the allocation whose number is `refused`. */
static int allocations, refused;

static void *counting_malloc(size_t size)
{
    return allocations++ == refused ? NULL : malloc(size);
}

Test(tokenizer_json, refused_memory_gives_null_and_leaks_nothing)
{
    struct tokenizer t[2] = {chars_of("abc"), {0}};
    tokenizer_make_bytes(&t[1]);
    json_set_alloc_funcs(counting_malloc, free);
    for (size_t k = 0; k < 2; k++) {
        json_t *json = NULL;
        for (refused = 0; !json; refused++) {
            allocations = 0;
            json = tokenizer_to_json(&t[k]);
            cr_assert_lt(refused, 5000);
        }
        cr_assert_gt(refused, 30);
        struct tokenizer back;
        struct error err;
        enum status s = STATUS_MEMORY;
        for (refused = 0; s == STATUS_MEMORY; refused++) {
            allocations = 0;
            s = tokenizer_from_json(&back, json, "f", &err);
        }
        cr_assert_eq(s, STATUS_OK, "%s", err.message);
        tokenizer_free(&back);
        json_decref(json);
    }
    json_set_alloc_funcs(malloc, free);
    tokenizer_free(&t[0]);
}
