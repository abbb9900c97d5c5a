#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

#define SIZE sizeof(((struct error *)0)->message)

Test(status, fail_fills_the_message_and_hands_back_the_status)
{
    struct error err;
    memset(&err, 'x', sizeof err);
    cr_assert_eq(fail(&err, STATUS_OPEN, "%s: found %d, expected %d", "a.txt", 3, 4), STATUS_OPEN);
    cr_assert_str_eq(err.message, "a.txt: found 3, expected 4");
}

Test(status, fail_within_puts_the_place_in_front)
{
    struct error err;
    fail(&err, STATUS_FORMAT, "byte 7 is no UTF-8");
    cr_assert_eq(fail_within(&err, STATUS_FORMAT, "%s", "a.txt"), STATUS_FORMAT);
    cr_assert_str_eq(err.message, "a.txt: byte 7 is no UTF-8");
    fail_within(&err, STATUS_FORMAT, "run %d", 2);
    cr_assert_str_eq(err.message, "run 2: a.txt: byte 7 is no UTF-8");
}

Test(status, a_percent_sign_in_the_first_message_stays_text)
{
    struct error err;
    fail(&err, STATUS_READ, "%s", "100%s%n");
    fail_within(&err, STATUS_READ, "50%%");
    cr_assert_str_eq(err.message, "50%: 100%s%n");
}

Test(status, a_message_of_just_the_buffer_is_whole)
{
    struct error err;
    char text[SIZE];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fail(&err, STATUS_READ, "%s", text);
    cr_assert_str_eq(err.message, text);
}

Test(status, a_long_message_is_cut)
{
    struct error err;
    char text[2 * SIZE];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fail(&err, STATUS_READ, "%s", text);
    cr_assert_eq(strlen(err.message), SIZE - 1);
    fail_within(&err, STATUS_READ, "%s", text);
    cr_assert_eq(strlen(err.message), SIZE - 1);
}

/* The characters é, €, 𝄞 (2, 3 and 4 bytes) across the end of the buffer, at every offset. */
Test(status, a_cut_never_splits_a_character)
{
    const char *const characters[] = {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9D\x84\x9E"};
    for (size_t c = 0; c < 3; c++) {
        const size_t width = strlen(characters[c]);
        for (size_t before = SIZE - 1 - 2 * width; before < SIZE; before++) {
            struct error err;
            char text[2 * SIZE] = {0};
            memset(text, 'a', before);
            for (size_t k = 0; k < 3; k++)
                memcpy(text + before + k * width, characters[c], width);
            fail(&err, STATUS_READ, "%s", text);
            const size_t room = SIZE - 1 > before ? (SIZE - 1 - before) / width : 0;
            const size_t whole = before > SIZE - 1 ? SIZE - 1 : before + (room < 3 ? room : 3) * width;
            cr_assert_eq(strlen(err.message), whole, "width %zu after %zu: %zu, expected %zu", width, before,
                         strlen(err.message), whole);
            cr_assert_eq(memcmp(err.message, text, whole), 0);
        }
    }
}

/* Controls of C0 and C1, DEL, separators, a change of direction; then what is no UTF-8: a continuation alone, an
 * overlong form, a surrogate, a value above U+10FFFF, a character cut off. */
Test(status, a_message_is_one_line_that_a_terminal_shows_as_it_is)
{
    const struct {
        const char *name, *shown;
    } cases[] = {
        {"a\nb\r\t\x1b[31m\x7f", "a?b???[31m?"},
        {"\xC2\x9B\xC2\xA0", "??\xC2\xA0"},
        {"\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA7", "????????????\xE2\x80\xA7"},
        {"\x80z", "?z"},
        {"\xC0\xAF\xE0\x9F\xBF\xF0\x8F\xBF\xBF", "?????????"},
        {"\xED\xA0\x80\xED\x9F\xBF", "???\xED\x9F\xBF"},
        {"\xF4\x90\x80\x80\xF4\x8F\xBF\xBF\xFF", "????\xF4\x8F\xBF\xBF?"},
        {"\xE2\x82", "??"},
        {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9D\x84\x9E", "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9D\x84\x9E"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err;
        fail(&err, STATUS_READ, "%s", cases[i].name);
        cr_assert_str_eq(err.message, cases[i].shown, "case %zu: %s", i, err.message);
        char whole[64];
        snprintf(whole, sizeof whole, "%s: x", cases[i].shown);
        fail(&err, STATUS_READ, "x");
        fail_within(&err, STATUS_READ, "%s", cases[i].name);
        cr_assert_str_eq(err.message, whole, "case %zu within: %s", i, err.message);
    }
}
