#include "text/numerals.h"

#include <criterion/criterion.h>
#include <string.h>

static size_t read_all(uint64_t *number, const char *text)
{
    return numerals_read(number, (const uint8_t *)text, strlen(text));
}

Test(numerals, read_decimal_numbers_up_to_white_space_or_the_end)
{
    static const struct {
        const char *text;
        size_t length;
        uint64_t number;
    } cases[] = {{"0", 1, 0},
                 {"7 8", 1, 7},
                 {"12\n", 2, 12},
                 {"345\t6", 3, 345},
                 {"4294967295", 10, 4294967295u},
                 {"9999999999\r\n", 10, 9999999999u},
                 {"10\v", 2, 10},
                 {"10\f", 2, 10}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint64_t number = 1;
        cr_assert_eq(read_all(&number, cases[k].text), cases[k].length, "%s", cases[k].text);
        cr_assert_eq(number, cases[k].number, "%s", cases[k].text);
    }
}

Test(numerals, anything_else_is_no_id)
{
    static const char *const cases[] = {"-1",
                                        "+1",
                                        "1.0",
                                        "1e3",
                                        "0x1",
                                        "00",
                                        "007",
                                        "12a",
                                        "a12",
                                        ",",
                                        "12345678901",
                                        "1,2",
                                        ("\xC2\xA0"
                                         "1"),
                                        "1\xC2\xA0",
                                        " 1"};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint64_t number;
        cr_assert_eq(read_all(&number, cases[k]), 0u, "%s", cases[k]);
    }
}

Test(numerals, white_space_is_the_six_of_ascii)
{
    size_t spaces = 0;
    for (int byte = 0; byte < 256; byte++)
        spaces += numerals_is_space((uint8_t)byte);
    cr_assert_eq(spaces, 6u);
    const uint8_t text[] = " \t\n\v\f\r7 ";
    cr_assert_eq(numerals_skip(text, 8, 0), 6u);
    cr_assert_eq(numerals_skip(text, 8, 7), 8u, "to the end");
}

static void expect_message(const char *text, size_t V, const char *words)
{
    struct error err;
    struct utf8_count before = {0};
    utf8_count(&before, (const uint8_t *)"1 2\n", 4);
    cr_assert_eq(numerals_fail(&err, "ids.txt", &before, (const uint8_t *)text, strlen(text), V), STATUS_FORMAT);
    cr_assert(strstr(err.message, words), "\"%s\" lacks \"%s\"", err.message, words);
    cr_assert(strstr(err.message, "ids.txt: ") && strstr(err.message, "byte offset 4 (on line 2)"), "%s", err.message);
    cr_assert_null(strchr(err.message, '\n'));
}

Test(numerals, messages_say_what_was_found_where_and_what_is_allowed)
{
    expect_message("x12 3", 9, "found \"x12\"");
    expect_message("\x1b[2J 3", 9, "found \"U+001B[2J\"");
    expect_message("a-word-without-any-end", 9, "found \"a-word-without-a...\"");
    expect_message("\xFF", 9, "found \"...\"");
    expect_message("9 1", 9, "the id 9");
    expect_message("9 1", 9, "which are 0 to 8");
    expect_message("4000000000", 0, "larger than any vocabulary's");
}
