#include <criterion/criterion.h>
#include <string.h>

#include "diag/chart.h"

#define T 24

/* Words for a chart in which i sees a later j where `rule` says so. */
static const char *words(char out[CHART_WORDS_SIZE], int (*rule)(size_t i, size_t j))
{
    unsigned char cells[T * T];
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            cells[i * T + j] = j <= i || rule(i, j) ? CHART_SEES : CHART_CLEAR;
    const struct chart_shape s = chart_judge(cells, T);
    chart_words(out, &s);
    return out;
}

static int never(size_t i, size_t j)
{
    return (void)i, (void)j, 0;
}
static int always(size_t i, size_t j)
{
    return (void)i, (void)j, 1;
}
static int next(size_t i, size_t j)
{
    return j == i + 1;
}
static int third(size_t i, size_t j)
{
    return j == i + 3;
}
static int near(size_t i, size_t j)
{
    return j <= i + 4;
}
static int block(size_t i, size_t j)
{
    return i / 7 == j / 7;
}
static int odd(size_t i, size_t j)
{
    return i == 5 && j % 2;
}

Test(chart, names_what_a_window_sees)
{
    char out[CHART_WORDS_SIZE];
    cr_assert_str_eq(words(out, never), "nothing later");
    cr_assert_str_eq(words(out, always), "all later positions");
    cr_assert_str_eq(words(out, next), "the next position only (+1)");
    cr_assert_str_eq(words(out, third), "the position 3 ahead only (+3)");
    cr_assert_str_eq(words(out, near), "up to 4 positions ahead");
    cr_assert_str_eq(words(out, block), "later positions in the same block of 7");
    cr_assert_str_eq(words(out, odd), "some later positions, from 1 of 23 positions");
}

Test(chart, judges_only_what_was_tried)
{
    unsigned char cells[T * T];
    memset(cells, CHART_UNTRIED, sizeof cells);
    cells[2 * T + 9] = CHART_SEES;
    cells[3 * T + 9] = CHART_SEES;
    struct chart_shape s = chart_judge(cells, T);
    cr_assert_eq(s.pattern, CHART_ALL_FUTURE);
    cr_assert_eq(s.rows, 2);
    cr_assert_eq(s.rows_able, 2);
    cells[8 * T + 9] = CHART_CLEAR;
    s = chart_judge(cells, T);
    cr_assert_eq(s.pattern, CHART_SOME);
    cr_assert_eq(s.rows_able, 3);
}

Test(chart, of_one_position_has_no_future)
{
    const unsigned char cell = CHART_SEES;
    cr_assert_eq(chart_judge(&cell, 1).pattern, CHART_CAUSAL);
}
