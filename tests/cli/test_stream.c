#define _POSIX_C_SOURCE 200809L
#include "cli/stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *seen;
static size_t seen_size;

static void start(struct stream *s, const char *stop)
{
    struct error err;
    FILE *f = open_memstream(&seen, &seen_size);
    fflush(f); /* `seen` is only up to date once flushed; afterwards that is the stream's own duty */
    cr_assert_eq(stream_open(s, f, stop, &err), STATUS_OK);
}

static void finish(struct stream *s)
{
    fclose(s->out);
    free(seen);
    stream_free(s);
}

/* Puts one byte at a time; how many were taken before the stop string was complete, or all. */
static size_t put_bytes(struct stream *s, const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++)
        if (stream_put(s, text + i, 1))
            return i + 1;
    return strlen(text);
}

Test(stream, characters_leave_at_once_and_only_whole)
{
    struct stream s;
    start(&s, NULL);
    stream_put(&s, "a", 1);
    cr_assert_str_eq(seen, "a");
    stream_put(&s, "\xf0", 1);
    stream_put(&s, "\x9f", 1);
    stream_put(&s, "\x98", 1);
    cr_assert_str_eq(seen, "a");
    stream_put(&s, "\x80", 1);
    cr_assert_str_eq(seen, "a\xf0\x9f\x98\x80");
    stream_put(&s, "\xc3\xa9", 2);
    cr_assert_str_eq(seen, "a\xf0\x9f\x98\x80\xc3\xa9");
    finish(&s);
}

Test(stream, bytes_that_are_no_utf8_pass_unchanged)
{
    const char *const texts[] = {"\x80\x80\x80\x80\x80", "\xff\xfe", "\xc3x", "\xf0\x9fz", "\xe2\x82", "\xc0\xaf",
                                 "\xf5\x80\x80\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct stream s;
        start(&s, NULL);
        put_bytes(&s, texts[i]);
        stream_end(&s);
        cr_assert_str_eq(seen, texts[i]);
        finish(&s);
    }
}

Test(stream, stops_across_symbols_and_keeps_the_stop_string_back)
{
    const struct {
        const char *stop, *text, *out;
        size_t taken;
    } cases[] = {
        {"END", "one END two", "one ", 7},      {"END", "ENENDx", "EN", 5}, {"aab", "aaaab", "aa", 5},
        {"abab", "abaabab", "aba", 7},          {"\n", "x\ny", "x", 2},     {"END", "no end EN", "no end EN", 9},
        {"\xc3\xa9", "caf\xc3\xa9s", "caf", 5}, {"x", "x", "", 1},          {"abc", "ab", "ab", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stream s;
        start(&s, cases[i].stop);
        cr_assert_eq(put_bytes(&s, cases[i].text), cases[i].taken, "case %zu", i);
        stream_end(&s);
        cr_assert_str_eq(seen, cases[i].out, "case %zu gave \"%s\"", i, seen);
        finish(&s);
    }
}

Test(stream, a_symbol_of_several_bytes_may_hold_the_end_of_a_stop_string)
{
    struct stream s;
    start(&s, "a\xc3\xa9");
    cr_assert(!stream_put(&s, "a", 1));
    cr_assert_str_eq(seen, "");
    cr_assert(stream_put(&s, "\xc3\xa9", 2));
    stream_end(&s);
    cr_assert_str_eq(seen, "");
    finish(&s);
}

/* Whatever the text and the stop string: the output is the text before the first stop string. */
Test(stream, agrees_with_searching_the_whole_text)
{
    unsigned state = 1;
    for (int round = 0; round < 3000; round++) {
        char text[40], stop[6];
        size_t n = 0, m = 0;
        state = state * 1103515245u + 12345u;
        const size_t text_length = 5 + state / 65536 % 30, stop_length = 1 + state / 4096 % 4;
        while (n < text_length) {
            state = state * 1103515245u + 12345u;
            text[n++] = "ab"[state / 65536 % 2];
        }
        while (m < stop_length) {
            state = state * 1103515245u + 12345u;
            stop[m++] = "ab"[state / 65536 % 2];
        }
        text[n] = stop[m] = '\0';
        struct stream s;
        start(&s, stop);
        const size_t taken = put_bytes(&s, text);
        stream_end(&s);
        const char *found = strstr(text, stop);
        const size_t expected = found ? (size_t)(found - text) : n;
        cr_assert_eq(seen_size, expected, "%s in %s", stop, text);
        cr_assert_eq(memcmp(seen, text, expected), 0);
        cr_assert_eq(taken, found ? expected + m : n);
        finish(&s);
    }
}

/* Numbers, each with a blank before it: " 7" is not in " 75". */
Test(stream, a_stop_string_of_whole_symbols_ends_where_a_symbol_does)
{
    struct stream s;
    start(&s, " 7");
    s.whole = true;
    cr_assert(!stream_put(&s, " 75", 3));
    cr_assert(!stream_put(&s, " 1234567890", STREAM_MOST));
    cr_assert_str_eq(seen, " 75 1234567890");
    cr_assert(!stream_put(&s, " 17", 3));
    cr_assert(stream_put(&s, " 7", 2));
    stream_end(&s);
    cr_assert_str_eq(seen, " 75 1234567890 17");
    finish(&s);

    start(&s, " 7 8");
    s.whole = true;
    cr_assert(!stream_put(&s, " 7", 2));
    cr_assert_str_eq(seen, "", "it may go on as the stop string does");
    cr_assert(!stream_put(&s, " 80", 3));
    cr_assert_str_eq(seen, " 7 80");
    finish(&s);
}
