#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include "cli/terminal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A pretended screen: what is written to `stream` is read back from `master`. */
struct screen {
    int master;
    FILE *stream;
    char text[4096];
};

static void screen_open(struct screen *s, unsigned short columns)
{
    s->master = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(s->master >= 0 && grantpt(s->master) == 0 && unlockpt(s->master) == 0);
    const int slave = open(ptsname(s->master), O_RDWR | O_NOCTTY);
    cr_assert_geq(slave, 0);
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    cr_assert_eq(ioctl(slave, TIOCSWINSZ, &size), 0);
    s->stream = fdopen(slave, "w");
    cr_assert_not_null(s->stream);
}

/* What has come to the screen is exactly this. A kernel may hand it over in pieces: they are waited for. */
static void screen_expect(struct screen *s, const char *expected)
{
    fflush(s->stream);
    size_t n = 0;
    const int patience = expected[0] ? 5000 : 20; /* milliseconds */
    struct pollfd ready = {.fd = s->master, .events = POLLIN};
    while ((n == 0 || n < strlen(expected)) && poll(&ready, 1, patience) > 0) {
        const ssize_t got = read(s->master, s->text + n, sizeof s->text - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    s->text[n] = '\0';
    cr_assert_str_eq(s->text, expected);
}

static void set_environment(const char *term, const char *no_color)
{
    setenv("TERM", term, 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    unsetenv("COLORTERM");
    if (no_color)
        setenv("NO_COLOR", no_color, 1);
}

Test(terminal, knows_a_terminal_its_width_and_whether_colour_is_wanted)
{
    const struct {
        const char *term, *no_color;
        bool live, colour;
    } cases[] = {{"xterm", NULL, true, true},
                 {"xterm", "1", true, false},
                 {"xterm", "", true, true},
                 {"dumb", NULL, false, false},
                 {"", NULL, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct screen s;
        struct terminal t;
        set_environment(cases[i].term, cases[i].no_color);
        screen_open(&s, 37);
        terminal_open(&t, s.stream);
        cr_assert_eq(t.live, cases[i].live, "case %zu", i);
        cr_assert_eq(t.colour, cases[i].colour, "case %zu", i);
        cr_assert_eq(t.width, 37);
        cr_assert_str_eq(terminal_style(&t, TERMINAL_RED), cases[i].colour ? "\033[31m" : "");
    }
}

Test(terminal, many_colours_are_a_promise_of_the_name_or_of_COLORTERM)
{
    const struct {
        const char *term, *colorterm, *no_color;
        bool many;
    } cases[] = {{"xterm", NULL, NULL, false},       {"xterm-256color", NULL, NULL, true},
                 {"xterm-direct", NULL, NULL, true}, {"xterm", "truecolor", NULL, true},
                 {"xterm", "", NULL, false},         {"xterm-256color", "truecolor", "1", false},
                 {"dumb", "truecolor", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct screen s;
        struct terminal t;
        set_environment(cases[i].term, cases[i].no_color);
        if (cases[i].colorterm)
            setenv("COLORTERM", cases[i].colorterm, 1);
        screen_open(&s, 80);
        terminal_open(&t, s.stream);
        cr_assert_eq(t.many, cases[i].many, "case %zu", i);
    }
}

Test(terminal, an_entry_is_wrapped_between_words_on_a_screen_and_one_line_in_a_pipe)
{
    struct screen s;
    struct terminal t;
    set_environment("dumb", NULL);
    screen_open(&s, 20);
    terminal_open(&t, s.stream);
    terminal_entry(&t, "label  ", "%d words here, more", 4);
    screen_expect(&s, "label  4 words here,\r\n       more\r\n");
    FILE *f = tmpfile();
    terminal_open(&t, f);
    terminal_entry(&t, "label  ", "%d words here, more", 4);
    rewind(f);
    char line[64] = "";
    cr_assert_not_null(fgets(line, sizeof line, f));
    cr_assert_str_eq(line, "label  4 words here, more\n");
    fclose(f);
}

Test(terminal, a_command_in_an_entry_is_not_broken)
{
    struct screen s;
    struct terminal t;
    set_environment("dumb", NULL);
    screen_open(&s, 16);
    terminal_open(&t, s.stream);
    terminal_entry(&t, "", "go on with nopeek train --resume run; or see nopeek help");
    screen_expect(&s, "go on with\r\nnopeek train --resume run;\r\nor see\r\nnopeek help\r\n");
}

Test(terminal, an_entry_counts_columns_and_not_bytes)
{
    struct screen s;
    struct terminal t;
    set_environment("dumb", NULL);
    screen_open(&s, 10);
    terminal_open(&t, s.stream);
    terminal_entry(&t, "", "\u00e9\u00e9 \u00b1\u00b1 \u00b1\u00b1\u00b1\u00b1 \u94f6\u884c\u94f6 ab");
    screen_expect(&s, "\u00e9\u00e9 \u00b1\u00b1 \u00b1\u00b1\u00b1\u00b1\r\n\u94f6\u884c\u94f6 ab\r\n");
}

Test(terminal, a_pipe_is_not_live_and_takes_its_width_from_COLUMNS_within_reason)
{
    set_environment("xterm", NULL);
    const char *const columns[] = {NULL, "120", "0", "junk", "99999999", "-5"};
    const size_t width[] = {80, 120, 80, 80, 80, 80};
    for (size_t i = 0; i < 6; i++) {
        if (columns[i])
            setenv("COLUMNS", columns[i], 1);
        int ends[2];
        cr_assert_eq(pipe(ends), 0);
        FILE *f = fdopen(ends[1], "w");
        struct terminal t;
        terminal_open(&t, f);
        cr_assert(!t.live && !t.colour);
        cr_assert_eq(t.width, width[i]);
        fclose(f);
    }
}

Test(terminal, progress_redraws_one_line_on_a_screen_ten_times_a_second)
{
    struct screen s;
    struct terminal t;
    set_environment("xterm", NULL);
    screen_open(&s, 12);
    terminal_open(&t, s.stream);
    terminal_progress(&t, 5.00, false, "step %d", 1);
    screen_expect(&s, "\rstep 1\033[K");
    terminal_progress(&t, 5.05, false, "step %d", 2);
    screen_expect(&s, "");
    terminal_progress(&t, 5.05, true, "step %d", 3);
    screen_expect(&s, "\rstep 3\033[K");
    terminal_progress(&t, 5.20, false, "0123456789abcdef");
    screen_expect(&s, "\r0123456789a\033[K");
    terminal_note(&t, "done");
    screen_expect(&s, "\r\033[Kdone\r\n");
    terminal_note(&t, "again");
    screen_expect(&s, "again\r\n");
}

Test(terminal, progress_is_plain_and_slow_in_a_pipe)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    FILE *f = fdopen(ends[1], "w");
    struct terminal t;
    terminal_open(&t, f);
    for (int i = 0; i <= 250; i++)
        terminal_progress(&t, 100 + i * 0.1, false, "at %d", i);
    terminal_clear(&t);
    fclose(f);
    char text[256] = {0};
    cr_assert_gt(read(ends[0], text, sizeof text - 1), 0);
    cr_assert_str_eq(text, "at 0\nat 100\nat 200\n");
}

static void resize(struct screen *s, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    cr_assert_eq(ioctl(fileno(s->stream), TIOCSWINSZ, &size), 0);
}

Test(terminal, progress_leaves_nothing_behind_when_the_window_changes)
{
    const struct {
        const char *name, *tmux, *narrow, *clear;
    } cases[] = {{NULL, NULL, "\033[2A\r\033[J\r01234567\033[K", "\033[1A\r\033[J\r\033[K"},
                 {"XTerm(379)", NULL, "\r01234567\033[K", "\r\033[K"},
                 {"XTerm(379)", "x", "\033[2A\r\033[J\r01234567\033[K", "\033[1A\r\033[J\r\033[K"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct screen s;
        struct terminal t;
        set_environment("xterm", NULL);
        unsetenv("TMUX");
        unsetenv("XTERM_VERSION");
        unsetenv("STY");
        if (cases[i].name)
            setenv("XTERM_VERSION", cases[i].name, 1);
        if (cases[i].tmux)
            setenv("TMUX", cases[i].tmux, 1);
        screen_open(&s, 20);
        terminal_open(&t, s.stream);
        terminal_progress(&t, 1, false, "0123456789abcdefghijklmn");
        screen_expect(&s, "\r0123456789abcdefghi\033[K");
        resize(&s, 9); /* 19 columns fill three rows */
        terminal_progress(&t, 2, false, "0123456789abcdefghijklmn");
        screen_expect(&s, cases[i].narrow);
        resize(&s, 7); /* 8 columns fill two */
        terminal_clear(&t);
        screen_expect(&s, cases[i].clear);
        resize(&s, 30);
        terminal_progress(&t, 3, false, "0123456789abcdefghijklmn");
        screen_expect(&s, "\r0123456789abcdefghijklmn\033[K");
    }
}
