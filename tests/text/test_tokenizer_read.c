/* Vocabularies as other programs write them; what nopeek itself writes is test_tokenizer_json's. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

#define CHARS "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[\\\\s\\\\S]\"},\"behavior\":\"Isolated\",\"invert\":false}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define IDS "{\"type\":\"WhitespaceSplit\"}"

static enum status read(struct tokenizer *t, const char *before, const char *vocab, const char *added,
                        struct error *err)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"version\":\"1.0\",\"added_tokens\":%s,\"pre_tokenizer\":%s,\"model\":{\"type\":\"%s\",\"vocab\":%s}}",
             added, before, strcmp(before, BYTES) == 0 ? "BPE" : "WordLevel", vocab);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(json, "%s", text);
    *t = (struct tokenizer){0};
    const enum status s = tokenizer_from_json(t, json, "f", err);
    json_decref(json);
    return s;
}

/* symbols: one word a id, as labels. */
static void expect_symbols(const char *before, const char *vocab, const char *added, const char *labels)
{
    struct tokenizer t;
    struct error err;
    char found[256] = "";
    cr_assert_eq(read(&t, before, vocab, added, &err), STATUS_OK, "%s", err.message);
    for (uint32_t id = 0; id < t.size; id++) {
        char label[TOKENIZER_LABEL_SIZE];
        tokenizer_label(&t, id, label);
        strcat(strcat(found, id ? " " : ""), label);
    }
    cr_assert_str_eq(found, labels);
    tokenizer_free(&t);
}

static void expect_refusal(const char *before, const char *vocab, const char *added, const char *says)
{
    struct tokenizer t;
    struct error err;
    cr_assert_eq(read(&t, before, vocab, added, &err), STATUS_FORMAT, "accepted: %s %s", vocab, added);
    cr_assert(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert(!t.symbol && !t.order && t.size == 0);
}

Test(tokenizer_read, characters_come_in_any_order_with_gaps_and_longer_entries)
{
    expect_symbols(CHARS, "{\"b\":0,\"a\":1}", "[]", "b a");
    expect_symbols(CHARS, "{\"<pad>\":0,\"b\":1,\"a\":2,\"e\\u0301\":3}", "[]", "#0 b a #3");
    expect_symbols(CHARS, "{\"b\":3,\"a\":1}", "null", "#0 a #2 b");
}

Test(tokenizer_read, added_tokens_are_characters_or_stand_for_nothing)
{
    expect_symbols(CHARS, "{\"b\":0,\"a\":1}", "[{\"id\":2,\"content\":\"<s>\",\"lstrip\":true}]", "b a #2");
    expect_symbols(CHARS, "{\"b\":0,\"a\":1}", "[{\"id\":3,\"content\":\"\\n\"}]", "b a #2 \\n");
    expect_symbols(CHARS, "{\"<s>\":0,\"a\":1}", "[{\"id\":0,\"content\":\"<s>\"}]", "#0 a");
    expect_symbols(CHARS, "{\"a\":0}", "[{\"id\":0,\"content\":\"a\"}]", "a");
    expect_refusal(CHARS, "{\"a\":0,\"b\":1}", "[{\"id\":1,\"content\":\"a\"}]", "\"a\" has the id 1, but another in");
    expect_refusal(CHARS, "{\"a\":0,\"b\":1}", "[{\"id\":1,\"content\":\"<s>\"}]", "\"<s>\" has the id 1 of another");
    expect_refusal(CHARS, "{\"a\":0}", "[{\"id\":0,\"content\":\"a\",\"rstrip\":true}]", "swallows the blanks");
    expect_refusal(CHARS, "{\"a\":0}", "[{\"id\":1}]", "entry 0 has no content");
    expect_refusal(CHARS, "{\"a\":0}", "[7]", "entry 0 has no content");
    expect_refusal(CHARS, "{\"a\":0}", "[{\"content\":\"<s>\"}]", "the id of \"<s>\" is not a whole number");
    expect_refusal(CHARS, "{\"a\":0}", "[{\"id\":-5,\"content\":\"<s>\"}]", "the id of \"<s>\" is -5");
    expect_refusal(CHARS, "{\"a\":0}", "[{\"id\":99999999,\"content\":\"<s>\"}]", "is 99999999, expected 0 to 1114111");
    expect_refusal(BYTES, "{\"a\":0}", "[{\"id\":1,\"content\":\"\\u00e9\"}]", "is a character of several bytes");
}

Test(tokenizer_read, bytes_may_be_shuffled_and_fewer_than_256)
{
    /* The alphabet's line feed is U+010A, its blank U+0120, and U+00E9 is the byte E9. */
    expect_symbols(BYTES, "{\"\\u0120\":0,\"\\u00e9\":1,\"a\":2,\"\\u010a\":3,\"<s>\":4}", "[]",
                   "\xE2\x90\xA3 0xE9 a \\n #4");
    expect_refusal(BYTES, "{\"\\u0416\":0}", "[]", "\"\xD0\x96\" stands for no byte");
    expect_refusal(BYTES, "{\" \":0}", "[]", "stands for no byte");
}

Test(tokenizer_read, bare_ids_are_spelt_as_the_numbers_they_are)
{
    expect_symbols(IDS, "{\"1\":1,\"0\":0,\"2\":2}", "[]", "#0 #1 #2");
    expect_refusal(IDS, "{\"0\":1,\"1\":0}", "[]", "\"0\" is a word with the id 1");
    expect_refusal(IDS, "{\"the\":0}", "[]", "\"the\" is a word with the id 0");
    expect_refusal(IDS, "{\"0\":0,\"2\":2}", "[]", "the id of \"2\" is 2, expected 0 to 1");
    expect_refusal(IDS, "{\"00\":0}", "[]", "\"00\" is a word");
    expect_refusal(IDS, "{}", "[]", "model.vocab has 0 symbols");
    expect_refusal(IDS, "{\"0\":0}", "[{\"id\":1,\"content\":\"<s>\"}]", "entry 0 is no id of the vocabulary");
}

Test(tokenizer_read, an_imported_vocabulary_is_written_and_read_again_as_it_was)
{
    static const struct {
        const char *before, *vocab;
    } cases[] = {{CHARS, "{\"<pad>\":0,\"b\":5,\"a\":2,\"\\n\":3}"},
                 {BYTES, "{\"b\":0,\"\\u010a\":9,\"a\":2}"},
                 {IDS, "{\"0\":0,\"1\":1}"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct tokenizer t, back;
        struct error err;
        cr_assert_eq(read(&t, cases[k].before, cases[k].vocab, "[]", &err), STATUS_OK, "%s", err.message);
        json_t *json = tokenizer_to_json(&t);
        cr_assert_eq(json_object_size(json_object_get(json_object_get(json, "model"), "vocab")), t.size, "no gaps");
        cr_assert_eq(tokenizer_from_json(&back, json, "f", &err), STATUS_OK, "%s", err.message);
        json_decref(json);
        cr_assert(back.kind == t.kind && back.size == t.size && back.known == t.known);
        cr_assert(!t.symbol || memcmp(back.symbol, t.symbol, t.size * sizeof *t.symbol) == 0);
        tokenizer_free(&t);
        tokenizer_free(&back);
    }
}
