#include "text/tokenizer.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Newline kinds, quotes, a joined emoji, a combining mark, right-to-left, an astral letter, odd blanks. */
static const char AWKWARD[] = "\xEF\xBB\xBF"
                              "a\tb  c\\d \"q\" 'r'\n\r\n\r</x>\xE2\x80\xA8\xC2\xA0"
                              "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x92\xBB e\xCC\x81 \xD7\xA9\xD7\x9C "
                              "\xF0\x90\x8D\x88 \xD0\x96\x7F\x01";

static struct tokenizer chars_of(const char *text)
{
    struct tokenizer t;
    struct error err;
    cr_assert_eq(tokenizer_make_chars(&t, (const uint8_t *)text, strlen(text), "text", &err), STATUS_OK, "%s",
                 err.message);
    return t;
}

static void expect_round_trip(const struct tokenizer *t, const char *text, size_t n, size_t symbols)
{
    struct error err;
    uint32_t *ids;
    size_t count;
    cr_assert_eq(tokenizer_encode(t, &ids, &count, (const uint8_t *)text, n, "text", &err), STATUS_OK, "%s",
                 err.message);
    cr_assert_eq(count, symbols);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
        cr_assert_lt(ids[i], t->size);
        const size_t length = tokenizer_decode(t, ids[i], bytes);
        cr_assert(at + length <= n && memcmp(text + at, bytes, length) == 0);
        at += length;
    }
    cr_assert_eq(at, n);
    free(ids);
}

Test(tokenizer, ids_follow_code_point_order)
{
    struct tokenizer t = chars_of("\xF0\x9F\x98\x80 zebra \xC3\xA9\n\xEF\xBF\xBD");
    static const uint32_t want[] = {'\n', ' ', 'a', 'b', 'e', 'r', 'z', 0xE9, 0xFFFD, 0x1F600};
    cr_assert_eq(t.kind, TOKENIZER_CHARS);
    cr_assert_eq(t.size, sizeof want / sizeof want[0]);
    cr_assert_arr_eq(t.symbol, want, sizeof want);
    tokenizer_free(&t);
    cr_assert_null(t.symbol);
    cr_assert_eq(t.size, 0u);
}

Test(tokenizer, one_code_point_is_one_symbol_and_comes_back_byte_for_byte)
{
    const size_t n = sizeof AWKWARD - 1;
    struct utf8_count count = {0};
    utf8_count(&count, (const uint8_t *)AWKWARD, n);
    struct tokenizer t = chars_of(AWKWARD);
    expect_round_trip(&t, AWKWARD, n, count.characters);
    tokenizer_free(&t);
}

/* Bytes above 127 are negative where char is signed: the same ids must come out on every machine. */
Test(tokenizer, cyrillic_gives_the_same_ids_whatever_the_sign_of_char)
{
    struct tokenizer t = chars_of("\xD0\xBC\xD0\xB8\xD1\x80 \xD0\x9C\xD0\xB8\xD1\x80");
    static const uint32_t symbols[] = {' ', 0x41C, 0x438, 0x43C, 0x440}, want[] = {3, 2, 4, 0, 1, 2, 4};
    cr_assert_arr_eq(t.symbol, symbols, sizeof symbols);
    struct error err;
    uint32_t *ids;
    size_t count;
    static const char text[] = "\xD0\xBC\xD0\xB8\xD1\x80 \xD0\x9C\xD0\xB8\xD1\x80";
    cr_assert_eq(tokenizer_encode(&t, &ids, &count, (const uint8_t *)text, sizeof text - 1, "text", &err), STATUS_OK);
    cr_assert_eq(count, 7u);
    cr_assert_arr_eq(ids, want, sizeof want);
    free(ids);
    tokenizer_free(&t);
}

Test(tokenizer, bytes_are_their_own_ids)
{
    struct tokenizer t;
    tokenizer_make_bytes(&t);
    cr_assert_eq(t.size, 256u);
    char all[256];
    for (size_t i = 0; i < 256; i++)
        all[i] = (char)(255 - i);
    expect_round_trip(&t, all, 256, 256);
    struct error err;
    uint32_t *ids;
    size_t count;
    cr_assert_eq(tokenizer_encode(&t, &ids, &count, (const uint8_t *)all, 256, "all", &err), STATUS_OK);
    for (uint32_t i = 0; i < 256; i++)
        cr_assert_eq(ids[i], 255 - i);
    free(ids);
    tokenizer_free(&t);
}

Test(tokenizer, nothing_encodes_to_nothing)
{
    struct tokenizer t = chars_of("abc");
    struct error err;
    uint32_t *ids = (uint32_t *)&t;
    size_t count = 9;
    cr_assert_eq(tokenizer_encode(&t, &ids, &count, (const uint8_t *)"", 0, "prompt", &err), STATUS_OK);
    cr_assert_null(ids);
    cr_assert_eq(count, 0u);
    tokenizer_free(&t);
}

static void expect_no_vocabulary(const char *text, size_t n, const char *words)
{
    struct tokenizer t = {.size = 77};
    struct error err;
    cr_assert_eq(tokenizer_make_chars(&t, (const uint8_t *)text, n, "a/b.txt", &err), STATUS_FORMAT);
    cr_assert_eq(strncmp(err.message, "a/b.txt: ", 9), 0, "%s", err.message);
    cr_assert(strstr(err.message, words), "%s", err.message);
    cr_assert_eq(t.size, 0u);
    cr_assert_null(t.symbol);
}

Test(tokenizer, a_text_that_is_no_utf8_is_refused_with_place_and_advice)
{
    expect_no_vocabulary("abc\nd\xE9 ok", 9, "byte offset 5 (line 2): not valid UTF-8: found E9 20");
    expect_no_vocabulary("abc\nd\xE9 ok", 9, "--tokens byte");
    expect_no_vocabulary("ab\0c", 4, "byte offset 2 (line 1): found the character U+0000");
    expect_no_vocabulary("ab\0c", 4, "--tokens byte");
    expect_no_vocabulary("ab\xF0\x9F\x98", 5,
                         "byte offset 2 (line 1): not valid UTF-8: found F0 9F 98, a character cut");
    expect_no_vocabulary("", 0, "empty (0 bytes)");
}

static void expect_refusal(const struct tokenizer *t, const char *text, size_t n, const char *words)
{
    struct error err;
    uint32_t *ids;
    size_t count;
    cr_assert_eq(tokenizer_encode(t, &ids, &count, (const uint8_t *)text, n, "prompt", &err), STATUS_FORMAT);
    cr_assert_null(ids);
    cr_assert_eq(count, 0u);
    cr_assert(strstr(err.message, words), "%s", err.message);
    cr_assert_eq(strncmp(err.message, "prompt: ", 8), 0);
    cr_assert_null(strchr(err.message, '\n'));
}

Test(tokenizer, an_unknown_character_is_named_with_its_place)
{
    struct tokenizer t = chars_of("abcdefghijklmnopqrstuvwxyz\xC3\xA9\n");
    expect_refusal(&t, "Z?", 2,
                   "the character 'Z' (U+005A) at byte offset 0 (after 0 characters, on line 1) is not among the 28");
    expect_refusal(&t, "\xC3\xA9\nab?", 6,
                   "the character '?' (U+003F) at byte offset 5 (after 4 characters, on line 2)");
    expect_refusal(&t, "ab\t", 3, "the character '\\t' (U+0009)");
    expect_refusal(&t, "ab\xC2\xA0", 4, "the character U+00A0 at");
    expect_refusal(&t, "\0", 1, "the character U+0000 at");
    expect_refusal(&t, "\xF4\x8F\xBF\xBF", 4, "the character U+10FFFF at");
    tokenizer_free(&t);
}

Test(tokenizer, invalid_utf8_in_a_prompt_is_refused_wherever_it_stands)
{
    struct tokenizer t = chars_of("abc\xC3\xA9");
    expect_refusal(&t, "ab\xE9", 3, "byte offset 2 (line 1): not valid UTF-8: found E9, a character cut in half");
    expect_refusal(&t, "\x80\x80\x80", 3, "byte offset 0 (line 1): not valid UTF-8: found 80");
    expect_refusal(&t, "a\xC3\xA9\xBF", 4, "byte offset 3 (line 1): not valid UTF-8: found BF");
    expect_refusal(&t, "\xC1\xA1", 2, "found C1 A1, an overlong form");
    tokenizer_free(&t);
}

/* The nearest ids must not be taken for a character between, before or after them. */
Test(tokenizer, every_code_point_outside_the_vocabulary_is_refused)
{
    struct tokenizer t = chars_of("b\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    for (uint32_t code = 0; code < UTF8_CODE_POINTS; code += code < 0x3000 ? 1 : 97) {
        if (code >= 0xD800 && code < 0xE000)
            continue;
        uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
        const size_t n = utf8_encode(code, bytes);
        size_t at = 0;
        uint32_t id;
        struct error err;
        const enum status s = tokenizer_next(&t, &id, bytes, n, &at, "x", &err);
        const bool known = code == 'b' || code == 0xE9 || code == 0x20AC || code == 0x1F600;
        cr_assert_eq(s, known ? STATUS_OK : STATUS_FORMAT);
        cr_assert_eq(at, known ? n : 0u);
        if (known)
            cr_assert_eq(t.symbol[id], code);
    }
    tokenizer_free(&t);
}

static void expect_label(const struct tokenizer *t, uint32_t id, const char *want)
{
    char label[TOKENIZER_LABEL_SIZE];
    tokenizer_label(t, id, label);
    cr_assert_str_eq(label, want);
}

Test(tokenizer, labels_can_be_seen)
{
    struct tokenizer t = chars_of("\n a\xC2\xA0\xD0\x96");
    expect_label(&t, 0, "\\n");
    expect_label(&t, 1, "\xE2\x90\xA3");
    expect_label(&t, 2, "a");
    expect_label(&t, 3, "U+00A0");
    expect_label(&t, 4, "\xD0\x96");
    tokenizer_free(&t);
    tokenizer_make_bytes(&t);
    expect_label(&t, '\n', "\\n");
    expect_label(&t, 'a', "a");
    expect_label(&t, '~', "~");
    expect_label(&t, 0, "0x00");
    expect_label(&t, 127, "0x7F");
    expect_label(&t, 0xE9, "0xE9");
    tokenizer_free(&t);
}

static enum status compare(const char *a, const char *b, struct error *err)
{
    struct tokenizer left = chars_of(a), right = chars_of(b);
    const enum status s = tokenizer_same(&left, "the run", &right, "new.txt", err);
    tokenizer_free(&left);
    tokenizer_free(&right);
    return s;
}

Test(tokenizer, vocabularies_are_compared_by_content)
{
    struct error err;
    cr_assert_eq(compare("abc", "ccbbaa", &err), STATUS_OK);
    cr_assert_eq(compare("abc", "abd", &err), STATUS_FORMAT); /* same size, other characters */
    cr_assert_str_eq(err.message, "vocabularies differ: the run has 3 characters, new.txt 3; the run alone has 'c' "
                                  "(U+0063); new.txt alone has 'd' (U+0064)");
    cr_assert_eq(compare("abc", "ab", &err), STATUS_FORMAT);
    cr_assert_str_eq(err.message,
                     "vocabularies differ: the run has 3 characters, new.txt 2; the run alone has 'c' (U+0063)");
    cr_assert_eq(compare("a", "a\n", &err), STATUS_FORMAT);
    cr_assert_str_eq(err.message,
                     "vocabularies differ: the run has 1 characters, new.txt 2; new.txt alone has '\\n' (U+000A)");
    cr_assert_eq(compare("x", "xabcdefgh", &err), STATUS_FORMAT);
    cr_assert_null(strstr(err.message, "more"), "%s", err.message);
    cr_assert_eq(compare("x", "xabcdefghi", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "'h' (U+0068) and 1 more"), "%s", err.message);
}

Test(tokenizer, characters_and_bytes_are_different_vocabularies)
{
    struct tokenizer chars = chars_of("abc"), bytes, more;
    struct error err;
    tokenizer_make_bytes(&bytes);
    tokenizer_make_bytes(&more);
    cr_assert_eq(tokenizer_same(&bytes, "a", &more, "b", &err), STATUS_OK);
    cr_assert_eq(tokenizer_same(&bytes, "a", &chars, "b", &err), STATUS_FORMAT);
    cr_assert_str_eq(err.message, "vocabularies differ: a has one of bytes, b one of characters");
    tokenizer_free(&chars);
}
