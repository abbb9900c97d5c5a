#include "diag/chart.h"

#include <stdbool.h>
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

/* Rows that see nothing tell nothing of a pattern: one head among many rows may be at fault in some only. */
static bool fits(const struct pattern *p, const unsigned char *cells, size_t T)
{
    for (size_t i = 0; i < T; i++)
        for (size_t j = i + 1; j < T; j++) {
            const unsigned char cell = cells[i * T + j];
            if (cell != CHART_UNTRIED && (cell == CHART_SEES) != belongs(p, i, j))
                return false;
        }
    return true;
}

struct chart_shape chart_judge(const unsigned char *cells, size_t T)
{
    struct chart_shape s = {CHART_CAUSAL, 0, 0, 0};
    size_t nearest = T, farthest = 0;
    for (size_t i = 0; i < T; i++) {
        bool sees = false, able = false;
        for (size_t j = i + 1; j < T; j++) {
            able |= cells[i * T + j] != CHART_UNTRIED;
            if (cells[i * T + j] != CHART_SEES)
                continue;
            sees = true;
            nearest = j - i < nearest ? j - i : nearest;
            farthest = j - i > farthest ? j - i : farthest;
        }
        s.rows += sees;
        s.rows_able += able;
    }
    if (s.rows == 0)
        return s;
    struct pattern tried[3 + 64] = {{CHART_ALL_FUTURE, 0}, {CHART_ONE_AHEAD, nearest}, {CHART_UP_TO_AHEAD, farthest}};
    size_t n = 3;
    /* A block of n positions shows its whole reach in its first row. */
    for (size_t block = farthest + 1; block <= farthest + 64 && block < T; block++)
        tried[n++] = (struct pattern){CHART_WITHIN_BLOCK, block};
    s.pattern = CHART_SOME;
    for (size_t k = 0; k < n && s.pattern == CHART_SOME; k++)
        if (fits(&tried[k], cells, T)) {
            s.pattern = tried[k].kind;
            s.number = tried[k].number;
        }
    return s;
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
    if (s->pattern == CHART_SOME && s->rows < s->rows_able) {
        const size_t used = strlen(out);
        snprintf(out + used, CHART_WORDS_SIZE - used, ", from %zu of %zu positions", s->rows, s->rows_able);
    }
}
