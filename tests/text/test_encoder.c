#include "text/encoder.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint32_t id_at(const struct encoder *e, size_t i)
{
    if (e->width == 1)
        return ((const uint8_t *)e->ids)[i];
    return e->width == 2 ? ((const uint16_t *)e->ids)[i] : ((const uint32_t *)e->ids)[i];
}

/* The whole text in pieces of `piece` bytes, the last three of each carried over. */
static enum status encode(struct encoder *e, const uint8_t *bytes, size_t n, size_t piece, struct error *err)
{
    for (size_t at = 0, done; at < n; at += done) {
        const size_t left = n - at, here = left < piece ? left : piece;
        const enum status s = encoder_add(e, &done, bytes + at, here, here == left ? here : here - 3, "text", err);
        if (s != STATUS_OK)
            return s;
        cr_assert(done <= here);
        if (here == left && done < here)
            return encoder_refuse(e, &(struct utf8_count){0}, bytes + at + done, here - done, "text", err);
    }
    return encoder_end(e, "text", err);
}

static void begin(struct encoder *e, struct tokenizer *t, enum tokenizer_kind kind)
{
    struct error err;
    *t = (struct tokenizer){.kind = kind};
    cr_assert_eq(encoder_begin(e, t, &err), STATUS_OK);
}

/* n distinct characters, from the highest code point down, so that every new one sorts before all that came before;
 * then all again from the lowest up. */
static uint8_t *descending(size_t n, size_t *size)
{
    uint8_t *text = malloc(8 * n);
    cr_assert_not_null(text);
    *size = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        const uint32_t k = (uint32_t)(i < n ? n - 1 - i : i - n), code = 0x21 + k;
        *size += utf8_encode(code < 0xD800 ? code : code + 0x800, text + *size);
    }
    return text;
}

Test(encoder, ids_follow_code_points_in_whatever_order_they_appear)
{
    static const size_t counts[] = {1, 2, 255, 256, 257, 258, 65535, 65536, 65537, 200003};
    static const size_t pieces[] = {7, 4096, (size_t)1 << 20};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            const size_t V = counts[k];
            size_t size;
            uint8_t *text = descending(V, &size);
            struct encoder e;
            struct tokenizer t;
            struct error err;
            begin(&e, &t, TOKENIZER_CHARS);
            cr_assert_eq(encode(&e, text, size, pieces[p], &err), STATUS_OK, "%s", err.message);
            cr_assert_eq(t.size, V);
            cr_assert_eq(e.width, V <= 256 ? 1u : V <= 65536 ? 2u : 4u);
            cr_assert_eq(e.count, 2 * V);
            cr_assert_eq(e.room, e.count, "no room is kept that the text does not need");
            for (size_t i = 0; i < V; i++) {
                cr_assert_eq(id_at(&e, i), V - 1 - i);
                cr_assert_eq(id_at(&e, V + i), i);
            }
            encoder_free(&e);
            tokenizer_free(&t);
            free(text);
        }
}

/* The 257th distinct character comes after many of the first ones, so that ids already written are made wider. */
Test(encoder, ids_written_before_the_vocabulary_outgrew_them_stay_right)
{
    const size_t before = 100003;
    uint8_t *text = malloc(before + 2 * 300);
    size_t size = 0;
    for (size_t i = 0; i < before; i++)
        text[size++] = (uint8_t)('a' + i % 26);
    for (uint32_t i = 0; i < 300; i++)
        size += utf8_encode(0x100 + i, text + size);
    struct encoder e;
    struct tokenizer t;
    struct error err;
    begin(&e, &t, TOKENIZER_CHARS);
    cr_assert_eq(encode(&e, text, size, 1000, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(t.size, 326u);
    cr_assert_eq(e.width, 2u);
    for (size_t i = 0; i < before; i++)
        cr_assert_eq(id_at(&e, i), i % 26);
    for (uint32_t i = 0; i < 300; i++)
        cr_assert_eq(id_at(&e, before + i), 26 + i);
    encoder_free(&e);
    tokenizer_free(&t);
    free(text);
}

Test(encoder, a_given_vocabulary_is_used_as_it_is_and_a_stranger_refused)
{
    struct encoder e;
    struct tokenizer t;
    struct error err;
    cr_assert_eq(tokenizer_make_chars(&t, (const uint8_t *)"abcd", 4, "x", &err), STATUS_OK);
    cr_assert_eq(encoder_begin(&e, &t, &err), STATUS_OK);
    cr_assert_eq(encode(&e, (const uint8_t *)"dcba", 4, 100, &err), STATUS_OK);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(id_at(&e, i), 3 - i);
    encoder_free(&e);
    cr_assert_eq(encoder_begin(&e, &t, &err), STATUS_OK);
    cr_assert_eq(encode(&e, (const uint8_t *)"adz", 3, 100, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "'z' (U+007A)"), "%s", err.message);
    cr_assert_eq(t.size, 4u);
    encoder_free(&e);
    tokenizer_free(&t);
}

Test(encoder, bytes_are_their_own_ids)
{
    uint8_t all[256];
    for (size_t i = 0; i < 256; i++)
        all[i] = (uint8_t)(255 - i);
    struct encoder e;
    struct tokenizer t;
    struct error err;
    begin(&e, &t, TOKENIZER_BYTES);
    cr_assert_eq(encode(&e, all, sizeof all, 50, &err), STATUS_OK);
    cr_assert_eq(e.count, 256u);
    cr_assert_eq(memcmp(e.ids, all, 256), 0);
    encoder_free(&e);
    tokenizer_free(&t);
}

Test(encoder, a_text_without_a_symbol_makes_no_vocabulary)
{
    struct encoder e;
    struct tokenizer t;
    struct error err;
    begin(&e, &t, TOKENIZER_CHARS);
    cr_assert_eq(encoder_end(&e, "text", &err), STATUS_FORMAT);
    encoder_free(&e);
    cr_assert_eq(t.size, 0u);
}
