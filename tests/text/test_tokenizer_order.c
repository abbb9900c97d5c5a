/* Vocabularies in an order of their own, with ids that stand for nothing, and bare ids. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

static enum status make(struct tokenizer *t, enum tokenizer_kind kind, const uint32_t *symbol, size_t V,
                        struct error *err)
{
    uint32_t *copy = malloc(V * sizeof *copy);
    memcpy(copy, symbol, V * sizeof *copy);
    return tokenizer_make_order(t, kind, copy, V, "here", err);
}

static struct tokenizer made(enum tokenizer_kind kind, const uint32_t *symbol, size_t V)
{
    struct tokenizer t;
    struct error err;
    cr_assert_eq(make(&t, kind, symbol, V, &err), STATUS_OK, "%s", err.message);
    return t;
}

static void expect_ids(const struct tokenizer *t, const char *text, const uint32_t *want, size_t n)
{
    struct error err;
    uint32_t *ids;
    size_t count;
    cr_assert_eq(tokenizer_encode(t, &ids, &count, (const uint8_t *)text, strlen(text), "text", &err), STATUS_OK, "%s",
                 err.message);
    cr_assert_eq(count, n);
    cr_assert(n == 0 || memcmp(ids, want, n * sizeof *want) == 0, "%s", text);
    free(ids);
}

static void expect_refusal(const struct tokenizer *t, const char *text, const char *words)
{
    struct error err;
    uint32_t *ids;
    size_t count;
    cr_assert_eq(tokenizer_encode(t, &ids, &count, (const uint8_t *)text, strlen(text), "text", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, words), "\"%s\" lacks \"%s\"", err.message, words);
}

static const uint32_t chars[] = {TOKENIZER_NOTHING, 0x1F600, 'b', TOKENIZER_NOTHING, '\n', 0x2028, 'a'};
#define CHARS (sizeof chars / sizeof chars[0])

Test(tokenizer_order, characters_keep_the_ids_they_came_with)
{
    struct tokenizer t = made(TOKENIZER_CHARS, chars, CHARS);
    cr_assert_eq(t.size, 7u);
    cr_assert_eq(tokenizer_count(&t), 5u);
    expect_ids(&t, "ab\n\xF0\x9F\x98\x80\xE2\x80\xA8", (const uint32_t[]){6, 2, 4, 1, 5}, 5);
    expect_refusal(&t, "abc", "'c' (U+0063) at byte offset 2");
    expect_refusal(&t, "abc", "among the 5 of the vocabulary");
    for (uint32_t id = 0; id < CHARS; id++) {
        uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
        cr_assert_eq(tokenizer_decode(&t, id, bytes) > 0, chars[id] != TOKENIZER_NOTHING);
        cr_assert_eq(tokenizer_knows(&t, id), chars[id] != TOKENIZER_NOTHING);
    }
    char label[TOKENIZER_LABEL_SIZE];
    tokenizer_label(&t, 3, label);
    cr_assert_str_eq(label, "#3");
    tokenizer_label(&t, 4, label);
    cr_assert_str_eq(label, "\\n");
    tokenizer_free(&t);
}

Test(tokenizer_order, every_character_of_a_shuffled_alphabet_is_found)
{
    uint32_t symbol[997]; /* a prime: steps of 313 visit each place once */
    for (uint32_t i = 0; i < 997; i++)
        symbol[i] = 0x100 + i * 313 % 997;
    struct tokenizer t = made(TOKENIZER_CHARS, symbol, 997);
    for (uint32_t i = 0; i < 997; i++) {
        uint32_t id;
        cr_assert(tokenizer_find(&t, symbol[i], &id) && id == i);
    }
    uint32_t id;
    cr_assert(!tokenizer_find(&t, 0xFF, &id) && !tokenizer_find(&t, 0x100 + 997, &id));
    tokenizer_free(&t);
}

Test(tokenizer_order, an_ascending_alphabet_is_the_one_a_text_gives)
{
    struct tokenizer t = made(TOKENIZER_CHARS, (const uint32_t[]){'a', 'b', 'z'}, 3);
    cr_assert_null(t.order);
    tokenizer_free(&t);
    uint32_t byte[256];
    for (uint32_t b = 0; b < 256; b++)
        byte[b] = b;
    t = made(TOKENIZER_BYTES, byte, 256);
    cr_assert(!t.order && !t.symbol && t.kind == TOKENIZER_BYTES && t.size == 256);
    byte[0] = 1;
    byte[1] = 0;
    t = made(TOKENIZER_BYTES, byte, 256);
    expect_ids(&t, "\x01z", (const uint32_t[]){0, 'z'}, 2);
    tokenizer_free(&t);
}

Test(tokenizer_order, a_byte_that_the_vocabulary_lacks_is_named)
{
    struct tokenizer t = made(TOKENIZER_BYTES, (const uint32_t[]){'b', 0xE9, 'a'}, 3);
    expect_ids(&t, "ab\xE9", (const uint32_t[]){2, 0, 1}, 3);
    expect_refusal(&t, "a\nb\xFF", "the byte 0x0A at byte offset 1 (on line 1) is not among the 3");
    tokenizer_free(&t);
}

Test(tokenizer_order, two_ids_for_one_symbol_and_none_for_any_are_refused)
{
    struct error err;
    struct tokenizer t;
    cr_assert_eq(make(&t, TOKENIZER_CHARS, (const uint32_t[]){'b', 'a', 'b'}, 3, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "the ids 0 and 2 of the vocabulary both stand for 'b' (U+0062)"), "%s", err.message);
    cr_assert(!t.symbol && t.size == 0);
    const uint32_t nothing[] = {TOKENIZER_NOTHING, TOKENIZER_NOTHING};
    cr_assert_eq(make(&t, TOKENIZER_BYTES, nothing, 2, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "stands for a single byte"), "%s", err.message);
}

Test(tokenizer_order, resizing_adds_and_takes_only_ids_that_stand_for_nothing)
{
    struct error err;
    bool *silent;
    struct tokenizer t = made(TOKENIZER_CHARS, (const uint32_t[]){'a', 'b'}, 2);
    cr_assert_eq(tokenizer_silent(&silent, &t, &err), STATUS_OK);
    cr_assert_null(silent);
    cr_assert_eq(tokenizer_resize(&t, 4, "here", &err), STATUS_OK);
    cr_assert(t.size == 4 && tokenizer_count(&t) == 2);
    expect_ids(&t, "ba", (const uint32_t[]){1, 0}, 2);
    cr_assert_eq(tokenizer_silent(&silent, &t, &err), STATUS_OK);
    cr_assert(silent && !silent[0] && !silent[1] && silent[2] && silent[3]);
    free(silent);
    cr_assert_eq(tokenizer_resize(&t, 2, "here", &err), STATUS_OK);
    cr_assert(t.size == 2 && !t.order);
    cr_assert_eq(tokenizer_resize(&t, 1, "here", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "the id 1 stands for b, but the model has only the ids 0 to 0"), "%s", err.message);
    cr_assert_eq(t.size, 2u, "as it was");
    tokenizer_free(&t);

    tokenizer_make_bytes(&t);
    cr_assert_eq(tokenizer_resize(&t, 259, "here", &err), STATUS_OK);
    expect_ids(&t, "\xFF", (const uint32_t[]){255}, 1);
    cr_assert(!tokenizer_knows(&t, 258) && tokenizer_count(&t) == 256);
    tokenizer_free(&t);
}

Test(tokenizer_order, bare_ids_are_read_and_written_as_numbers)
{
    struct tokenizer t;
    tokenizer_make_ids(&t, 300);
    expect_ids(&t, " 12  7\n299\t0\r\n", (const uint32_t[]){12, 7, 299, 0}, 4);
    expect_ids(&t, " \n", NULL, 0);
    expect_ids(&t, "", NULL, 0);
    expect_refusal(&t, "1 2\n300", "the id 300 at byte offset 4 (on line 2)");
    expect_refusal(&t, "1 a", "found \"a\" at byte offset 2");
    expect_refusal(&t, "1 99999999999", "found \"99999999999\"");
    uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
    cr_assert(tokenizer_decode(&t, 299, bytes) == 3 && memcmp(bytes, "299", 3) == 0);
    char label[TOKENIZER_LABEL_SIZE];
    tokenizer_label(&t, 12, label);
    cr_assert_str_eq(label, "#12");
    struct tokenizer most;
    tokenizer_make_ids(&most, TOKENIZER_MOST_IDS);
    cr_assert_eq(tokenizer_decode(&most, (uint32_t)TOKENIZER_MOST_IDS - 1, bytes), 10u);
}

Test(tokenizer_order, vocabularies_are_the_same_when_they_read_the_same)
{
    struct error err;
    struct tokenizer a = made(TOKENIZER_CHARS, (const uint32_t[]){'a', 'b'}, 2),
                     b = made(TOKENIZER_CHARS, (const uint32_t[]){'b', TOKENIZER_NOTHING, 'a'}, 3),
                     c = made(TOKENIZER_CHARS, (const uint32_t[]){'b', 'c'}, 2), small, large;
    cr_assert_eq(tokenizer_same(&a, "a", &b, "b", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(tokenizer_same(&b, "b", &c, "c", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "b has 2 characters, c 2; b alone has 'a' (U+0061); c alone has 'c'"), "%s",
              err.message);
    tokenizer_make_ids(&small, 3);
    tokenizer_make_ids(&large, 4);
    cr_assert_eq(tokenizer_same(&small, "a", &small, "b", &err), STATUS_OK);
    cr_assert_eq(tokenizer_same(&small, "a", &large, "b", &err), STATUS_FORMAT);
    cr_assert_eq(tokenizer_same(&small, "a", &a, "b", &err), STATUS_FORMAT);
    tokenizer_free(&a);
    tokenizer_free(&b);
    tokenizer_free(&c);
}
