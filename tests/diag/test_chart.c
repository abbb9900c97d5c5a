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

Test(chart, of_some_positions_is_judged_by_where_they_stand)
{
    const size_t at[] = {0, 1, 2, 3, 7, 8, 9, 30, 31, 32};
    enum { N = 10 };
    unsigned char cells[N * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            cells[i * N + j] = j <= i || at[i] / 8 == at[j] / 8 ? CHART_SEES : CHART_CLEAR;
    const struct chart_shape s = chart_judge_at(cells, at, N);
    cr_assert_eq(s.pattern, CHART_WITHIN_BLOCK);
    cr_assert_eq(s.number, 8);
}

Test(chart, positions_are_in_order_and_hold_the_edges)
{
    for (size_t most = 8; most <= 64; most += 7)
        for (size_t length = 1; length < 5000; length = length * 3 / 2 + 1) {
            size_t at[64];
            const size_t n = chart_positions(at, most, length);
            cr_assert(n >= 1 && n <= most && n <= length);
            cr_assert(length > most || n == length);
            cr_assert_eq(at[0], 0);
            cr_assert_eq(at[n - 1], length - 1);
            for (size_t k = 1; k < n; k++)
                cr_assert_lt(at[k - 1], at[k]);
        }
    size_t at[64];
    const size_t n = chart_positions(at, 64, 1024);
    bool found = false;
    for (size_t k = 0; k < n; k++)
        found |= at[k] == 64;
    cr_assert(found);
}
