/* Where output goes: a person's terminal or a pipe. The only reader of the environment (NO_COLOR, TERM, COLORTERM,
 * COLUMNS, and which terminal it is). nopeek never calls setlocale, so numbers are printed and read in the C locale. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct terminal {
    FILE *stream;
    bool screen;  /* a terminal, of whatever kind: not a pipe or a file */
    bool live;    /* a terminal whose line can be drawn again: not a pipe, not TERM=dumb */
    bool colour;  /* live, and NO_COLOR is unset or empty */
    bool many;    /* colour, and TERM or COLORTERM promises 256 of them */
    size_t width; /* columns; 80 when unknown */

    /* The progress line. */
    bool drawn;     /* it stands on the screen */
    bool reflows;   /* it is broken into rows when the window becomes narrower than it is */
    size_t columns; /* that it took when it was drawn */
    bool shown_once;
    double shown_at; /* seconds, when it was last written */
};

void terminal_open(struct terminal *t, FILE *stream);

/* A line of progress at time `now` (clock_seconds). On a live terminal it replaces the last one, at most ten times a
 * second, cut to the width that the window has then; elsewhere it is a plain line, the first at once, then one every
 * ten seconds. `force` skips the wait. Nothing is written in between. */
void terminal_progress(struct terminal *t, double now, bool force, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Wipes the progress line; to be called before anything else is written to the screen. */
void terminal_clear(struct terminal *t);

/* An entry of a list for people: wipes the progress line, prints `label`, then "format". On a screen it is wrapped
 * between words to the width, below the end of the label, but for "nopeek ..." up to the end of the clause, which one
 * may want to copy; elsewhere it is one line. What is longer than TERMINAL_TEXT is cut. */
#define TERMINAL_TEXT 1024
void terminal_entry(struct terminal *t, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same without a label. */
void terminal_note(struct terminal *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum terminal_style { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_RED };

/* The escape sequence that begins a style (TERMINAL_PLAIN ends all), or "" without colour. */
const char *terminal_style(const struct terminal *t, enum terminal_style style);

#endif
