/* Texts read with a vocabulary from elsewhere: another order of ids, or bare ids. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "text/dataset.h"
#include "text/source.h"

TestSuite(dataset_foreign, .init = scratch_make, .fini = scratch_remove);

static enum status open_bytes(struct dataset *d, struct tokenizer *t, const void *bytes, size_t n, struct error *err)
{
    const char *path = scratch_path("text");
    scratch_write(path, bytes, n);
    return dataset_open(d, t, &path, 1, 0.25, err);
}

static void expect_ids(struct tokenizer *t, const char *text, const uint32_t *want, size_t n)
{
    struct dataset d;
    struct error err;
    cr_assert_eq(open_bytes(&d, t, text, strlen(text), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(d.count, n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(dataset_id(&d, i), want[i], "symbol %zu", i);
    dataset_free(&d);
}

static void expect_refusal(struct tokenizer *t, const char *text, const char *says)
{
    struct dataset d;
    struct error err;
    cr_assert_eq(open_bytes(&d, t, text, strlen(text), &err), STATUS_FORMAT, "accepted: %s", text);
    cr_assert(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert_null(d.ids);
}

static struct tokenizer order_of(enum tokenizer_kind kind, const uint32_t *symbol, size_t V)
{
    struct tokenizer t;
    struct error err;
    uint32_t *copy = malloc(V * sizeof *copy);
    memcpy(copy, symbol, V * sizeof *copy);
    cr_assert_eq(tokenizer_make_order(&t, kind, copy, V, "v", &err), STATUS_OK, "%s", err.message);
    return t;
}

Test(dataset_foreign, characters_and_bytes_take_the_ids_of_their_vocabulary)
{
    struct tokenizer t = order_of(TOKENIZER_CHARS, (const uint32_t[]){TOKENIZER_NOTHING, 'b', 0xE9, 'a'}, 4);
    expect_ids(&t, "ab\xC3\xA9", (const uint32_t[]){3, 1, 2}, 3);
    expect_refusal(&t, "abc", "the character 'c' (U+0063) at byte offset 2");
    tokenizer_free(&t);
    t = order_of(TOKENIZER_BYTES, (const uint32_t[]){0xA9, TOKENIZER_NOTHING, 0xC3, 'a'}, 4);
    expect_ids(&t, "a\xC3\xA9", (const uint32_t[]){3, 2, 0}, 3);
    expect_refusal(&t, "a\nb", "the byte 0x0A at byte offset 1");
    tokenizer_free(&t);
}

Test(dataset_foreign, bytes_of_a_large_vocabulary_are_not_cut_to_eight_bits)
{
    uint32_t symbol[300];
    for (uint32_t i = 0; i < 300; i++)
        symbol[i] = i < 44 ? TOKENIZER_NOTHING : 299 - i;
    struct tokenizer t = order_of(TOKENIZER_BYTES, symbol, 300);
    expect_ids(&t, "\x01\xFF", (const uint32_t[]){298, 44}, 2);
    tokenizer_free(&t);
}

Test(dataset_foreign, a_text_of_ids_makes_a_vocabulary_up_to_its_largest)
{
    struct tokenizer t = {.kind = TOKENIZER_IDS};
    expect_ids(&t, "5 0\n\n299\t5 ", (const uint32_t[]){5, 0, 299, 5}, 4);
    cr_assert_eq(t.size, 300u);
    expect_ids(&t, "7", (const uint32_t[]){7}, 1);
    expect_refusal(&t, "1 2\n 300",
                   "the id 300 at byte offset 5 (on line 2) is none of the vocabulary's, which are 0 to 299");
    expect_refusal(&t, "1 x", "found \"x\" at byte offset 2");
    expect_refusal(&t, " \n\t ", "holds nothing but white space");
    t.size = 0;
    expect_refusal(&t, "1 4000000000",
                   "the id 4000000000 at byte offset 2 (on line 1) is larger than any vocabulary's");
    expect_refusal(&t, "1 -2", "found \"-2\"");
    cr_assert_eq(t.size, 0u);
}

/* Numbers, and the white space between them, lie across the border of two windows at every offset. */
Test(dataset_foreign, no_number_is_cut_at_the_border_of_a_window)
{
    const size_t n = SOURCE_WINDOW + 64;
    char *text = malloc(n);
    for (size_t shift = 0; shift < 24; shift++) {
        memset(text, ' ', n);
        size_t count = 0, last = n - 11;
        for (size_t at = SOURCE_WINDOW - 40 + shift; at < last; at += 13, count++)
            memcpy(text + at, "123456", 6);
        struct tokenizer t = {.kind = TOKENIZER_IDS};
        struct dataset d;
        struct error err;
        cr_assert_eq(open_bytes(&d, &t, text, n, &err), STATUS_OK, "shift %zu: %s", shift, err.message);
        cr_assert(d.count == count && t.size == 123457, "shift %zu: %zu ids, V %zu", shift, d.count, t.size);
        for (size_t i = 0; i < d.count; i++)
            cr_assert_eq(dataset_id(&d, i), 123456u);
        dataset_free(&d);
    }
    free(text);
}
