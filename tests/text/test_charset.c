#include "text/charset.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct charset *new_set(void)
{
    struct charset *set = calloc(1, sizeof *set);
    cr_assert_not_null(set);
    return set;
}

static int has(const struct charset *set, uint32_t code)
{
    return (int)(set->bits[code / 64] >> (code % 64) & 1);
}

Test(charset, finds_each_code_point_and_counts_symbols)
{
    struct charset *set = new_set();
    static const char text[] = "hello, hello \xD0\x96\xD0\x96 \xF0\x9F\x98\x80 and on and on";
    size_t symbols = 0;
    const size_t n = sizeof text - 1;
    cr_assert_eq(charset_scan(set, &symbols, (const uint8_t *)text, n, n), n);
    cr_assert_eq(symbols, n - 2 - 3);
    static const uint32_t want[] = {' ', ',', 'a', 'd', 'e', 'h', 'l', 'n', 'o', 0x416, 0x1F600};
    const size_t count = sizeof want / sizeof want[0];
    cr_assert_eq(charset_size(set), count);
    uint32_t got[sizeof want / sizeof want[0]];
    charset_list(got, set);
    cr_assert_arr_eq(got, want, sizeof want);
    free(set);
}

/* One odd byte at every place of stretches of every length around the eight that are tested at once. */
Test(charset, an_odd_byte_is_found_at_any_place)
{
    static const uint8_t odd[] = {0x00, 0x80, 0xFF, 0xC3};
    struct charset *set = new_set();
    for (size_t n = 1; n < 40; n++)
        for (size_t place = 0; place < n; place++)
            for (size_t k = 0; k < sizeof odd; k++) {
                uint8_t text[40];
                for (size_t i = 0; i < n; i++)
                    text[i] = (uint8_t)(i % 2 ? 1 : 127);
                text[place] = odd[k];
                size_t symbols = 0;
                cr_assert_eq(charset_scan(set, &symbols, text, n, n), place);
                cr_assert_eq(symbols, place);
            }
    cr_assert_eq(charset_size(set), 2u);
    free(set);
}

Test(charset, every_ascii_character_counts_alone_and_among_eight)
{
    for (uint8_t byte = 1; byte < 128; byte++)
        for (size_t n = 1; n <= 9; n += 8) {
            struct charset *set = new_set();
            uint8_t text[9];
            for (size_t i = 0; i < n; i++)
                text[i] = byte;
            size_t symbols = 0;
            cr_assert_eq(charset_scan(set, &symbols, text, n, n), n);
            cr_assert_eq(charset_size(set), 1u);
            cr_assert(has(set, byte));
            free(set);
        }
}

/* A piece ends before a character that it does not hold whole; the next piece begins there. */
Test(charset, pieces_give_what_the_whole_gives)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\xF0\x90\x8D\x88\xE2\x80\xA8\xC2\xA0y";
    const uint8_t *bytes = (const uint8_t *)text;
    const size_t n = sizeof text - 1;
    for (size_t piece = 4; piece <= n; piece++) {
        struct charset *set = new_set();
        size_t symbols = 0;
        for (size_t at = 0; at < n;) {
            const size_t have = n - at < piece ? n - at : piece;
            const size_t stop = at + have == n ? have : have - 3;
            const size_t done = charset_scan(set, &symbols, bytes + at, have, stop);
            cr_assert(done >= stop && done <= have);
            at += done;
        }
        cr_assert_eq(symbols, 9u);
        cr_assert_eq(charset_size(set), 9u);
        cr_assert(has(set, 0x20AC) && has(set, 0x1F600) && has(set, 0x10348) && has(set, 0x2028) && has(set, 0xA0));
        free(set);
    }
}

Test(charset, holds_every_code_point)
{
    struct charset *set = new_set();
    size_t symbols = 0;
    for (uint32_t code = 1; code < UTF8_CODE_POINTS; code++) {
        if (code == 0xD800)
            code = 0xE000;
        uint8_t bytes[4];
        const size_t n = utf8_encode(code, bytes);
        cr_assert_eq(charset_scan(set, &symbols, bytes, n, n), n);
    }
    cr_assert_eq(symbols, UTF8_CODE_POINTS - 2048u - 1u);
    cr_assert_eq(charset_size(set), symbols);
    uint32_t *codes = malloc(symbols * sizeof *codes);
    charset_list(codes, set);
    for (size_t i = 1; i < symbols; i++)
        cr_assert(codes[i] > codes[i - 1]);
    cr_assert_eq(codes[symbols - 1], 0x10FFFFu);
    free(codes);
    free(set);
}
