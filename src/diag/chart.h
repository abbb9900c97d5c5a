/* Which position depends on which: a T x T chart, and what its upper triangle looks like in words. A causal model's
 * upper triangle is clear; the shape of one that is not tells what kind of mistake was made. */
#ifndef DIAG_CHART_H
#define DIAG_CHART_H

#include <stddef.h>

/* One cell: does what stands at i change when the input at j does? */
enum chart_cell { CHART_UNTRIED, CHART_CLEAR, CHART_SEES };

enum chart_pattern {
    CHART_CAUSAL,       /* nothing later is seen */
    CHART_ALL_FUTURE,   /* every later position that was tried */
    CHART_ONE_AHEAD,    /* the position `number` ahead, and no other */
    CHART_UP_TO_AHEAD,  /* those up to `number` ahead */
    CHART_WITHIN_BLOCK, /* those in the same block of `number` positions */
    CHART_SOME,         /* others */
};

struct chart_shape {
    enum chart_pattern pattern;
    size_t number;
    size_t rows;      /* positions that see something later ... */
    size_t rows_able; /* ... of those for which something later was tried */
};

/* cells (T,T) of enum chart_cell, row-major. Where several patterns fit the first in the list above is taken. */
struct chart_shape chart_judge(const unsigned char *cells, size_t T);

/* The same for a chart of some positions only: cells (n,n), row and column k standing for position at[k], ascending. */
struct chart_shape chart_judge_at(const unsigned char *cells, const size_t *at, size_t n);

/* Up to `most` (at least 8, asserted) of the positions 0 .. T-1, ascending: all if they fit, else the first ones, those
 * beside powers of two, the last, and others between. Returns how many. */
size_t chart_positions(size_t *at, size_t most, size_t T);

#define CHART_WORDS_SIZE 128

/* "all later positions", "the next position only (+1)", "the position 3 ahead only (+3)", "up to 4 positions ahead",
 * "later positions in the same block of 16", "some later positions", "nothing later"; where only some positions see
 * anything: ", from 5 of 63 positions". */
void chart_words(char out[CHART_WORDS_SIZE], const struct chart_shape *s);

#endif
