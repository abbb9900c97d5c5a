#include "io/lines.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"

TestSuite(lines, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static struct line next(struct lines *l)
{
    struct error err;
    struct line line;
    bool more;
    cr_assert_eq(lines_next(&line, &more, l, &err), STATUS_OK, "%s", err.message);
    cr_assert(more);
    return line;
}

static void expect_end(struct lines *l)
{
    struct error err;
    struct line line;
    bool more = true;
    cr_assert_eq(lines_next(&line, &more, l, &err), STATUS_OK);
    cr_assert_not(more);
    cr_assert_eq(lines_next(&line, &more, l, &err), STATUS_OK);
    cr_assert_not(more, "the end stays the end");
    lines_close(l);
    lines_close(l);
}

static void open_text(struct lines *l, const char *text, size_t n, size_t most)
{
    struct error err;
    scratch_write(scratch_path("f"), text, n);
    cr_assert_eq(lines_open(l, scratch_path("f"), most, &err), STATUS_OK, "%s", err.message);
}

static void expect(struct lines *l, const char *text, bool ended)
{
    const struct line line = next(l);
    cr_assert_eq(line.n, strlen(text), "%zu bytes, expected '%s'", line.n, text);
    cr_assert_eq(memcmp(line.bytes, text, line.n), 0);
    cr_assert_eq(line.ended, ended);
}

Test(lines, come_one_by_one_with_or_without_a_last_line_end)
{
    struct lines l;
    open_text(&l, "a\n\nbc\r\nd", 8, 10);
    expect(&l, "a", true);
    expect(&l, "", true);
    expect(&l, "bc\r", true);
    expect(&l, "d", false);
    expect_end(&l);
    open_text(&l, "a\n", 2, 10);
    expect(&l, "a", true);
    expect_end(&l);
    open_text(&l, "", 0, 10);
    expect_end(&l);
}

/* Lengths around the limit and around the first buffer of 65,536 bytes, with line ends and without. */
Test(lines, of_every_length_are_whole_up_to_the_limit_and_passed_over_above_it)
{
    const size_t limits[] = {1, 7, 65534, 65535, 65536, 65537, 150000};
    char *text = malloc(400000);
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
        const size_t most = limits[k];
        for (size_t n = most - 1; n <= most + 2; n++) {
            struct lines l;
            memset(text, 'x', n);
            memcpy(text + n, "\ny\n", 3);
            memset(text + n + 3, 'z', n);
            open_text(&l, text, 2 * n + 3, most);
            const struct line first = next(&l);
            cr_assert(first.n == n && first.ended && !first.bytes == (n > most), "%zu of %zu", n, most);
            cr_assert(!first.bytes || memcmp(first.bytes, text, n) == 0);
            expect(&l, "y", true);
            if (n > 0) {
                const struct line last = next(&l);
                cr_assert(last.n == n && !last.ended && !last.bytes == (n > most), "%zu of %zu", n, most);
                cr_assert(!last.bytes || memcmp(last.bytes, text + n + 3, n) == 0);
            }
            cr_assert_leq(l.room, most + 1);
            expect_end(&l);
        }
    }
    free(text);
}

Test(lines, a_line_of_a_gigabyte_costs_no_more_memory_than_the_limit)
{
    struct lines l;
    open_text(&l, "a\n", 2, 1000);
    cr_assert_eq(truncate(scratch_path("f"), ((off_t)1 << 30) + 2), 0, "a hole of that size takes no room");
    expect(&l, "a", true);
    lines_close(&l);
    struct error err;
    cr_assert_eq(lines_open(&l, scratch_path("f"), 1000, &err), STATUS_OK);
    expect(&l, "a", true);
    const struct line line = next(&l);
    cr_assert(line.n == (size_t)1 << 30 && !line.bytes && !line.ended);
    cr_assert_leq(l.room, 1001);
    expect_end(&l);
}

Test(lines, of_a_file_cut_off_meanwhile_are_an_error)
{
    struct lines l;
    struct error err;
    struct line line;
    bool more;
    char *text = malloc(200000);
    memset(text, 'x', 200000);
    open_text(&l, text, 200000, 1000);
    cr_assert_eq(truncate(scratch_path("f"), 500), 0);
    cr_assert_eq(lines_next(&line, &more, &l, &err), STATUS_READ);
    cr_assert_not_null(strstr(err.message, "cut off"), "%s", err.message);
    lines_close(&l);
    free(text);
}

Test(lines, what_is_no_file_is_refused, .timeout = 10)
{
    struct lines l;
    struct error err;
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0666), 0);
    cr_assert_eq(lines_open(&l, scratch_path("pipe"), 10, &err), STATUS_OPEN);
    cr_assert_eq(lines_open(&l, scratch_path("missing"), 10, &err), STATUS_OPEN);
    lines_close(&l);
}
