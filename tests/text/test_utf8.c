#include "text/utf8.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The definition, the slow way: gather the bits that the first byte announces, then ask whether the value needs
 * that many bytes and is a code point. */
static size_t oracle(uint32_t *code, const uint8_t *b, size_t n)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = 1;
    uint32_t c = b[0];
    if (b[0] >= 0x80) {
        if (b[0] < 0xC0 || b[0] > 0xF7)
            return 0;
        length = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
        c = b[0] & (0x7Fu >> length);
    }
    if (length > n)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (b[i] >> 6 != 2)
            return 0;
        c = c * 64 + b[i] % 64;
    }
    if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return 0;
    *code = c;
    return length;
}

static void compare(const uint8_t *bytes, size_t n)
{
    uint32_t a = 0, b = 0;
    const size_t got = utf8_decode(&a, bytes, n), want = oracle(&b, bytes, n);
    if (got != want || a != b)
        cr_assert_fail("%02X %02X %02X %02X, %zu bytes: length %zu U+%04X, expected %zu U+%04X", bytes[0], bytes[1],
                       bytes[2], bytes[3], n, got, a, want, b);
}

Test(utf8, decodes_exactly_the_well_formed_sequences)
{
    uint8_t b[4] = {0, 0, 0, 0x80};
    for (unsigned three = 0; three < 1u << 24; three++) {
        b[0] = (uint8_t)(three >> 16);
        b[1] = (uint8_t)(three >> 8);
        b[2] = (uint8_t)three;
        compare(b, 4);
        if (b[2] == 0x80) {
            compare(b, 3);
            compare(b, 2);
            compare(b, 1);
        }
    }
    static const uint8_t edge[] = {0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    for (unsigned two = 0xF000; two < 1u << 16; two++)
        for (size_t k = 0; k < sizeof edge; k++)
            for (size_t l = 0; l < sizeof edge; l++)
                for (size_t n = 1; n <= 4; n++)
                    compare((const uint8_t[]){(uint8_t)(two >> 8), (uint8_t)two, edge[k], edge[l]}, n);
}

Test(utf8, every_code_point_survives_encoding)
{
    for (uint32_t code = 0; code < UTF8_CODE_POINTS; code++) {
        if (code == 0xD800)
            code = 0xE000;
        uint8_t bytes[4];
        uint32_t back;
        const size_t n = utf8_encode(code, bytes);
        cr_assert_eq(n, code < 0x80 ? 1u : code < 0x800 ? 2u : code < 0x10000 ? 3u : 4u);
        cr_assert_eq(utf8_decode(&back, bytes, n), n);
        cr_assert_eq(back, code);
    }
}

static struct utf8_count count_in_pieces(const char *text, size_t n, size_t piece)
{
    struct utf8_count c = {0};
    for (size_t at = 0; at < n; at += piece)
        utf8_count(&c, (const uint8_t *)text + at, n - at < piece ? n - at : piece);
    return c;
}

Test(utf8, counts_line_ends_of_every_kind_however_the_text_is_cut)
{
    static const char text[] = "a\r\n\r\n\n\rb\r\r\n\xC3\xA9\xF0\x9F\x98\x80\r";
    const size_t n = sizeof text - 1;
    for (size_t piece = 1; piece <= n; piece++) {
        const struct utf8_count c = count_in_pieces(text, n, piece);
        cr_assert_eq(c.bytes, n);
        cr_assert_eq(c.characters, n - 4, "pieces of %zu", piece);
        cr_assert_eq(c.lf, 4u);
        cr_assert_eq(c.cr, 6u);
        cr_assert_eq(c.crlf, 3u, "pieces of %zu", piece);
        cr_assert_eq(utf8_line(&c), 8u);
    }
}

Test(utf8, a_line_ends_with_lf_cr_or_crlf)
{
    static const char *const same[] = {"one\ntwo\n\n", "one\rtwo\r\r", "one\r\ntwo\r\n\r\n"};
    for (size_t k = 0; k < 3; k++) {
        const struct utf8_count c = count_in_pieces(same[k], strlen(same[k]), 100);
        cr_assert_eq(utf8_line(&c), 4u);
    }
}

Test(utf8, every_kind_of_invalid_sequence_is_named_with_its_bytes)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *found, *wrong;
    } cases[] = {
        {"\x80"
         "ab",
         3, "found 80,", "continuation byte that follows no first byte"},
        {"\xE9 t", 3, "found E9 20,", "without the continuation bytes"},
        {"\xE2\x82x", 3, "found E2 82 78,", "without the continuation bytes"},
        {"\xC0\xAF", 2, "found C0 AF,", "overlong"},
        {"\xE0\x80\xAF", 3, "found E0 80 AF,", "overlong"},
        {"\xF0\x80\x80\xAF", 4, "found F0 80 80 AF,", "overlong"},
        {"\xED\xA0\x80", 3, "found ED A0 80,", "surrogate"},
        {"\xED\xBF\xBF", 3, "found ED BF BF,", "surrogate"},
        {"\xF4\x90\x80\x80", 4, "found F4 90 80 80,", "above U+10FFFF"},
        {"\xF7\xBF\xBF\xBF", 4, "found F7 BF BF BF,", "above U+10FFFF"},
        {"\xF8\x88\x80\x80\x80", 5, "found F8,", "never occurs"},
        {"\xFF", 1, "found FF,", "never occurs"},
        {"\xD0", 1, "found D0,", "cut in half by the end"},
        {"\xF0\x9F\x98", 3, "found F0 9F 98,", "cut in half by the end"},
        {"\0a", 2, "U+0000", "text does not hold"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct utf8_count before = {0};
        utf8_count(&before, (const uint8_t *)"one\ntwo", 7);
        struct error err;
        const enum status s =
            utf8_fail(&err, "file.txt", &before, (const uint8_t *)cases[k].bytes, cases[k].n, "do so");
        cr_assert_eq(s, STATUS_FORMAT);
        cr_assert(strstr(err.message, "file.txt: byte offset 7 (line 2): ") == err.message, "%s", err.message);
        cr_assert(strstr(err.message, cases[k].found), "%s", err.message);
        cr_assert(strstr(err.message, cases[k].wrong), "%s", err.message);
        cr_assert(strstr(err.message, "; do so"), "%s", err.message);
    }
}

Test(utf8, a_utf32_file_is_not_taken_for_utf16)
{
    struct error err;
    utf8_fail(&err, "f", &(struct utf8_count){0}, (const uint8_t *)"\xFF\xFE\0\0h\0\0", 8, "do so");
    cr_assert(strstr(err.message, "FF FE, the byte order mark of UTF-32"), "%s", err.message);
    utf8_fail(&err, "f", &(struct utf8_count){0}, (const uint8_t *)"\xFF\xFE\0", 3, "do so");
    cr_assert(strstr(err.message, "FF FE, the byte order mark of UTF-16"), "%s", err.message);
}

Test(utf8, a_utf16_file_is_recognised_by_its_mark)
{
    struct error err;
    utf8_fail(&err, "f", &(struct utf8_count){0}, (const uint8_t *)"\xFF\xFEh\0", 4, "do so");
    cr_assert(strstr(err.message, "FF FE, the byte order mark of UTF-16"), "%s", err.message);
    utf8_fail(&err, "f", &(struct utf8_count){0}, (const uint8_t *)"\xFE\xFF\0h", 4, "do so");
    cr_assert(strstr(err.message, "FE FF, the byte order mark of UTF-16"), "%s", err.message);
}

static void expect_label(uint32_t code, const char *label, const char *description)
{
    char got[UTF8_LABEL_SIZE], sentence[UTF8_DESCRIPTION_SIZE];
    utf8_label(code, got);
    utf8_describe(code, sentence);
    cr_assert_str_eq(got, label);
    cr_assert_str_eq(sentence, description);
}

Test(utf8, labels_show_what_there_is_to_see)
{
    expect_label('a', "a", "'a' (U+0061)");
    expect_label('\\', "\\", "'\\' (U+005C)");
    expect_label('\n', "\\n", "'\\n' (U+000A)");
    expect_label('\r', "\\r", "'\\r' (U+000D)");
    expect_label('\t', "\\t", "'\\t' (U+0009)");
    expect_label(' ', "\xE2\x90\xA3", "'\xE2\x90\xA3' (U+0020)");
    expect_label(0x416, "\xD0\x96", "'\xD0\x96' (U+0416)");
    expect_label(0x1F600, "\xF0\x9F\x98\x80", "'\xF0\x9F\x98\x80' (U+1F600)");
    expect_label(0x301, "\xE2\x97\x8C\xCC\x81", "'\xE2\x97\x8C\xCC\x81' (U+0301)"); /* a mark stands on a circle */
    static const uint32_t unseen[] = {0x0,    0x7,    0x1B,   0x7F,   0x85,   0xA0,   0xAD,    0x115F,
                                      0x200B, 0x200D, 0x202E, 0x2028, 0x2029, 0x2800, 0x3000,  0x3164,
                                      0xFE0F, 0xFEFF, 0xE000, 0xFFFF, 0x378,  0xD800, 0xE0100, 0x10FFFF};
    for (size_t k = 0; k < sizeof unseen / sizeof unseen[0]; k++) {
        char escape[UTF8_LABEL_SIZE];
        snprintf(escape, sizeof escape, "U+%04X", unseen[k]);
        expect_label(unseen[k], escape, escape);
    }
}

Test(utf8, every_label_fits_and_has_no_blank)
{
    for (uint32_t code = 0; code < UTF8_CODE_POINTS; code++) {
        char label[UTF8_LABEL_SIZE], sentence[UTF8_DESCRIPTION_SIZE], number[12];
        utf8_label(code, label);
        utf8_describe(code, sentence);
        snprintf(number, sizeof number, "U+%04X", code);
        cr_assert(strlen(label) > 0 && strlen(label) < UTF8_LABEL_SIZE - 1);
        cr_assert(strstr(sentence, number), "%s", sentence);
        for (const char *c = label; *c; c++)
            cr_assert((unsigned char)*c > 0x20 && *c != 0x7F, "U+%04X", code);
    }
}

Test(utf8, columns_are_those_of_a_terminal)
{
    cr_assert_eq(utf8_columns(""), 0);
    cr_assert_eq(utf8_columns("\\n"), 2);
    cr_assert_eq(utf8_columns("\xE2\x90\xA3"), 1, "the open box");
    cr_assert_eq(utf8_columns("\xF0\x9F\x98\x80"), 2, "an emoji");
    cr_assert_eq(utf8_columns("\xE4\xB8\xAD\xE6\x96\x87"), 4, "two ideographs");
    cr_assert_eq(utf8_columns("\xE2\x97\x8C\xCC\x81"), 1, "a mark on its circle");
    cr_assert_eq(utf8_columns("a\xFF"), 1, "what is no UTF-8 takes none");
}

Test(utf8, a_beginning_that_fits_never_cuts_a_character)
{
    const struct {
        const char *text;
        size_t columns, bytes, used;
    } cases[] = {{"abc", 5, 3, 3},
                 {"abc", 2, 2, 2},
                 {"abc", 0, 0, 0},
                 {"", 3, 0, 0},
                 {"a\xC3\xA9z", 2, 3, 2},
                 {"\xF0\x9F\x98\x80x", 1, 0, 0}, /* two columns */
                 {"a\xF0\x9F\x98\x80x", 3, 5, 3},
                 {"e\xCC\x81z", 1, 3, 1}, /* a mark belongs to what it stands on */
                 {"\xFF\xC3", 1, 2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t used = 99;
        cr_assert_eq(utf8_fit(&used, cases[i].text, cases[i].columns), cases[i].bytes, "case %zu", i);
        cr_assert_eq(used, cases[i].used, "case %zu", i);
    }
}

Test(utf8, words_are_letters_marks_and_numbers)
{
    static const uint32_t in[] = {'a', 'Z', '0', 0xE9, 0x416, 0x301, 0x4E2D, 0x661, 0x2167, 0xBD};
    static const uint32_t out[] = {' ', '\n', '\t', '.', '\'', '-', '<', 0x2026, 0x20AC, 0x1F600, 0xA0, 0, 0xE000};
    for (size_t k = 0; k < sizeof in / sizeof *in; k++)
        cr_assert(utf8_in_word(in[k]), "U+%04X", in[k]);
    for (size_t k = 0; k < sizeof out / sizeof *out; k++)
        cr_assert_not(utf8_in_word(out[k]), "U+%04X", out[k]);
}

Test(utf8, scripts_that_run_from_right_to_left_are_known)
{
    cr_assert(utf8_right_to_left(0x5E9), "Hebrew");
    cr_assert(utf8_right_to_left(0x628), "Arabic");
    cr_assert(!utf8_right_to_left('a') && !utf8_right_to_left('3') && !utf8_right_to_left(' '));
    cr_assert(!utf8_right_to_left(0x4E2D) && !utf8_right_to_left(0x1F600));
}
