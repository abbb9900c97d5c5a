#include "diag/chart.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct pattern {
    enum chart_pattern kind;
    size_t number;
};

static bool belongs(const struct pattern *p, size_t i, size_t j)
{
    switch (p->kind) {
    case CHART_ALL_FUTURE:
        return true;
    case CHART_ONE_AHEAD:
        return j - i == p->number;
    case CHART_UP_TO_AHEAD:
        return j - i <= p->number;
    case CHART_WITHIN_BLOCK:
        return i / p->number == j / p->number;
    default:
        return false;
    }
}

static size_t place(const size_t *at, size_t k)
{
    return at ? at[k] : k;
}

/* `only`: of what belongs some may be unseen, if nothing else is seen. */
static bool fits(const struct pattern *p, bool only, const unsigned char *cells, const size_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            const unsigned char cell = cells[i * n + j];
            const bool may = belongs(p, place(at, i), place(at, j));
            if (cell != CHART_UNTRIED && (cell == CHART_SEES) != may && !(only && may))
                return false;
        }
    return true;
}

struct chart_shape chart_judge(const unsigned char *cells, size_t T)
{
    return chart_judge_at(cells, NULL, T);
}

struct chart_shape chart_judge_at(const unsigned char *cells, const size_t *at, size_t n)
{
    struct chart_shape s = {CHART_CAUSAL, 0, 0, 0};
    size_t nearest = SIZE_MAX, farthest = 0;
    for (size_t i = 0; i < n; i++) {
        bool sees = false, able = false;
        for (size_t j = i + 1; j < n; j++) {
            const size_t ahead = place(at, j) - place(at, i);
            able |= cells[i * n + j] != CHART_UNTRIED;
            if (cells[i * n + j] != CHART_SEES)
                continue;
            sees = true;
            nearest = ahead < nearest ? ahead : nearest;
            farthest = ahead > farthest ? ahead : farthest;
        }
        s.rows += sees;
        s.rows_able += able;
    }
    if (s.rows == 0)
        return s;
    struct pattern tried[3 + 64] = {{CHART_ALL_FUTURE, 0}, {CHART_ONE_AHEAD, nearest}, {CHART_UP_TO_AHEAD, farthest}};
    size_t patterns = 3;
    /* A block of m positions shows its whole reach in its first row. */
    for (size_t m = farthest + 1; m <= farthest + 64; m++)
        tried[patterns++] = (struct pattern){CHART_WITHIN_BLOCK, m};
    s.pattern = CHART_SOME;
    for (size_t k = 0; k < patterns && s.pattern == CHART_SOME; k++)
        if (fits(&tried[k], false, cells, at, n)) {
            s.pattern = tried[k].kind;
            s.number = tried[k].number;
        }
    /* one offset, from some positions only */
    if (s.pattern == CHART_SOME && fits(&tried[1], true, cells, at, n)) {
        s.pattern = CHART_ONE_AHEAD;
        s.number = nearest;
    }
    return s;
}

/* Puts t in its place among n ascending numbers, unless it is there. Returns how many there are then. */
static size_t insert(size_t *at, size_t n, size_t t)
{
    size_t k = n;
    while (k > 0 && at[k - 1] > t)
        k--;
    if (k > 0 && at[k - 1] == t)
        return n;
    memmove(at + k + 1, at + k, (n - k) * sizeof *at);
    at[k] = t;
    return n + 1;
}

size_t chart_positions(size_t *at, size_t most, size_t T)
{
    assert(most >= 8);
    size_t n = 0;
    const size_t row = T <= most ? T : most / 3;
    for (size_t t = 0; t < row; t++)
        n = insert(at, n, t);
    if (row == T)
        return n;
    n = insert(at, n, T - 1);
    for (size_t power = 8; power < T; power *= 2)
        for (size_t t = power - 1; t <= power + 1 && t < T && n < 2 * row; t++)
            n = insert(at, n, t);
    const size_t left = most - n;
    for (size_t k = 1; k <= left; k++)
        n = insert(at, n, row + k * (T - 1 - row) / (left + 1));
    return n;
}

void chart_words(char out[CHART_WORDS_SIZE], const struct chart_shape *s)
{
    switch (s->pattern) {
    case CHART_CAUSAL:
        snprintf(out, CHART_WORDS_SIZE, "nothing later");
        return;
    case CHART_ALL_FUTURE:
        snprintf(out, CHART_WORDS_SIZE, "all later positions");
        break;
    case CHART_ONE_AHEAD:
        if (s->number == 1)
            snprintf(out, CHART_WORDS_SIZE, "the next position only (+1)");
        else
            snprintf(out, CHART_WORDS_SIZE, "the position %zu ahead only (+%zu)", s->number, s->number);
        break;
    case CHART_UP_TO_AHEAD:
        snprintf(out, CHART_WORDS_SIZE, "up to %zu positions ahead", s->number);
        break;
    case CHART_WITHIN_BLOCK:
        snprintf(out, CHART_WORDS_SIZE, "later positions in the same block of %zu", s->number);
        break;
    case CHART_SOME:
        snprintf(out, CHART_WORDS_SIZE, "some later positions");
        break;
    }
    /* the last position of a block, or of the window, has nothing later to see */
    if ((s->pattern == CHART_SOME || s->pattern == CHART_ONE_AHEAD) && s->rows + s->number < s->rows_able + 1) {
        const size_t used = strlen(out);
        snprintf(out + used, CHART_WORDS_SIZE - used, ", from %zu of %zu positions", s->rows, s->rows_able);
    }
}
