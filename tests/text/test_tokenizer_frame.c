#include "text/tokenizer_frame.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A file of the library's with these parts. */
static json_t *file_of(const char *model, const char *before, const char *normalizer, const char *behind)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"version\":\"1.0\",\"normalizer\":%s,\"pre_tokenizer\":%s,\"post_processor\":%s,\"decoder\":null,"
             "\"truncation\":{\"max_length\":9},\"padding\":{\"pad_id\":0},\"model\":%s}",
             normalizer, before, behind, model);
    json_t *json = json_loads(text, 0, NULL);
    cr_assert_not_null(json, "%s", text);
    return json;
}

static const char words[] = "{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}",
                  bpe[] = "{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"continuing_subword_prefix\":\"\","
                          "\"end_of_word_suffix\":\"\",\"fuse_unk\":false,\"vocab\":{\"a\":0},\"merges\":[]}";

#define SPLIT(pattern, behavior)                                                                                       \
    "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\",\"invert\":false}"
#define REGEX(text) "{\"Regex\":\"" text "\"}"
#define PAIR(a, b) "{\"type\":\"Sequence\",\"pretokenizers\":[" a "," b "]}"
#define ALONE(a) "{\"type\":\"Sequence\",\"pretokenizers\":[" a "]}"
#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}"
#define EACH SPLIT(REGEX("[\\\\s\\\\S]"), "Isolated")

static void expect_kind(const char *model, const char *before, enum tokenizer_kind want)
{
    struct error err;
    enum tokenizer_kind kind = (enum tokenizer_kind)99;
    json_t *json = file_of(model, before, "null", "null");
    cr_assert_eq(tokenizer_frame_read(&kind, json, "f", &err), STATUS_OK, "%s: %s", before, err.message);
    cr_assert_eq(kind, want, "%s", before);
    json_decref(json);
}

static void expect_refusal(const char *model, const char *before, const char *normalizer, const char *behind,
                           const char *says)
{
    struct error err;
    enum tokenizer_kind kind;
    json_t *json = file_of(model, before, normalizer, behind);
    cr_assert_eq(tokenizer_frame_read(&kind, json, "f", &err), STATUS_FORMAT, "accepted: %s", before);
    cr_assert(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert_null(strchr(err.message, '\n'));
    json_decref(json);
}

/* Each was seen to give one id a character (byte, number) in the library itself. */
Test(tokenizer_frame, what_gives_a_symbol_a_character_is_told_by_its_kind)
{
    static const char *const chars[] = {
        EACH,
        SPLIT(REGEX("[\\\\s\\\\S]"), "MergedWithPrevious"),
        SPLIT(REGEX(""), "Removed"),
        SPLIT(REGEX("(?m)."), "Isolated"),
        SPLIT(REGEX(".|\\\\n"), "Isolated"),
        SPLIT(REGEX("(.|\\n)"), "Isolated"),
        SPLIT(REGEX("."), "Isolated"), /* this vocabulary has no line feed */
        PAIR("{\"type\":\"Digits\",\"individual_digits\":true}", EACH),
        PAIR(EACH, ALONE("{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"}")),
    };
    for (size_t i = 0; i < sizeof chars / sizeof chars[0]; i++)
        expect_kind(words, chars[i], TOKENIZER_CHARS);
    expect_kind(bpe, "null", TOKENIZER_CHARS);
    expect_kind(bpe, SPLIT("{\"String\":\"\"}", "Isolated"), TOKENIZER_CHARS);
    expect_kind(bpe, SPLIT(REGEX("\\\\w+"), "MergedWithNext"), TOKENIZER_CHARS);
    expect_kind(bpe, BYTE_LEVEL, TOKENIZER_BYTES);
    expect_kind(bpe, PAIR(SPLIT(REGEX("\\\\w+"), "Isolated"), BYTE_LEVEL), TOKENIZER_BYTES);
    expect_kind(words, PAIR(BYTE_LEVEL, EACH), TOKENIZER_BYTES);
    expect_kind(words, "{\"type\":\"WhitespaceSplit\"}", TOKENIZER_IDS);
}

Test(tokenizer_frame, what_joins_drops_or_changes_characters_is_refused_by_name)
{
    static const struct {
        const char *model, *before, *says;
    } cases[] = {
        {words, "null", "does not part the text into single characters"},
        {words, SPLIT("{\"String\":\"\"}", "Isolated"), "does not part"},
        {"{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"\\n\":1}}", SPLIT(REGEX("."), "Isolated"), "does not part"},
        {words, SPLIT(REGEX("\\\\X"), "Isolated"), "does not part"},
        {words, SPLIT(REGEX("[\\\\s\\\\S]"), "Contiguous"), "does not part"},
        {words, SPLIT(REGEX("[\\\\s\\\\S]"), "Removed"), "pre_tokenizer is Split, which removes characters"},
        {words, PAIR(EACH, BYTE_LEVEL), "does not part"},
        {words,
         "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[\\\\s\\\\S]\"},\"behavior\":\"Isolated\",\"invert\":true}",
         "does not part"},
        {bpe, "{\"type\":\"Punctuation\",\"behavior\":\"Removed\"}", "pre_tokenizer is Punctuation"},
        {bpe, "{\"type\":\"Whitespace\"}", "pre_tokenizer is Whitespace"},
        {bpe, "{\"type\":\"WhitespaceSplit\"}", "pre_tokenizer is WhitespaceSplit, which drops white space"},
        {words, PAIR("{\"type\":\"WhitespaceSplit\"}", EACH), "WhitespaceSplit, which drops"},
        {bpe, "{\"type\":\"Metaspace\",\"replacement\":\"_\"}", "pre_tokenizer is Metaspace"},
        {bpe, "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", "puts a blank before the text"},
        {bpe, "{\"type\":\"ByteLevel\"}", "puts a blank before the text"},
        {bpe, PAIR(BYTE_LEVEL, BYTE_LEVEL), "stands there twice"},
        {bpe, "{}", "pre_tokenizer is untyped"},
        {bpe, "3", "pre_tokenizer is untyped"},
        {"{\"type\":\"BPE\",\"merges\":[\"a b\"]}", "null", "model.merges has 1 pairs"},
        {"{\"type\":\"BPE\",\"byte_fallback\":true}", "null", "model.byte_fallback is set"},
        {"{\"type\":\"BPE\",\"dropout\":0.1}", "null", "model.dropout is set"},
        {"{\"type\":\"Unigram\"}", EACH, "model.type is Unigram"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refusal(cases[i].model, cases[i].before, "null", "null", cases[i].says);
    expect_refusal(words, EACH, "{\"type\":\"NFC\"}", "null", "normalizer is NFC");
    expect_refusal(words, EACH, "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}]}", "null",
                   "normalizer is");
}

Test(tokenizer_frame, only_post_processors_that_add_nothing_pass)
{
#define TEMPLATE(single) "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[],\"special_tokens\":{}}"
#define TEXT "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define TOKEN "{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}}"
    static const char *const harmless[] = {
        "null", TEMPLATE(TEXT), "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":false}",
        "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(TEXT) ",{\"type\":\"ByteLevel\"}]}"};
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        struct error err;
        enum tokenizer_kind kind;
        json_t *json = file_of(words, EACH, "{\"type\":\"Sequence\",\"normalizers\":[]}", harmless[i]);
        cr_assert_eq(tokenizer_frame_read(&kind, json, "f", &err), STATUS_OK, "%s", err.message);
        json_decref(json);
    }
    static const char *const harmful[] = {
        TEMPLATE(TOKEN "," TEXT),
        TEMPLATE(TEXT "," TOKEN),
        TEMPLATE(TEXT "," TEXT),
        TEMPLATE(TOKEN),
        TEMPLATE(""),
        "{\"type\":\"BertProcessing\"}",
        "{}",
        "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(TEXT) "," TEMPLATE(TOKEN) "]}"};
    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++)
        expect_refusal(words, EACH, "null", harmful[i], "post_processor is ");
}

Test(tokenizer_frame, lists_without_end_are_refused)
{
    char text[4096] = "";
    for (int i = 0; i < 40; i++)
        strcat(text, "{\"type\":\"Sequence\",\"pretokenizers\":[");
    strcat(text, EACH);
    for (int i = 0; i < 40; i++)
        strcat(text, "]}");
    json_t *json = file_of(words, "null", "null", "null");
    json_object_set_new(json, "pre_tokenizer", json_loads(text, 0, NULL));
    struct error err;
    enum tokenizer_kind kind;
    cr_assert_eq(tokenizer_frame_read(&kind, json, "f", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "nested more than"), "%s", err.message);
    json_decref(json);
}
