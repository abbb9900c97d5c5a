#include "diag/blackbox_chart.h"

#include <math.h>
#include <stdlib.h>

#define LONGEST ((size_t)1024) /* positions of a chart */
#define QUICK_QUESTIONS ((size_t)48)
#define RATIOS_LEAST ((size_t)4)
/* Of what the next token moves, what the one after it moves through a layer more: 0.06 at most was seen, in GPTs of 2
 * to 4 layers before and after training. */
#define FAINTER 0.2
#define CHAIN_LONGEST ((size_t)64) /* layers */
#define NEARLY_ALL 0.75            /* of the cells */

/* Memory of one chart. */
struct chart {
    struct session *s;
    size_t n, n_rows;
    unsigned char *cells; /* (n,n) */
    float *moved;  /* (n,n): by how many nats a log-probability at i moved when the token at j changed: the mean, which
               coarse rounding does not bias, of the round in which it was largest */
    size_t *order; /* (n) positions to change, the telling ones first */
};

/* The rows to look at: all, or as many as an answer may have, from the places where mistakes show first. */
static const size_t *choose_rows(struct chart *c)
{
    struct session *s = c->s;
    if (s->whole) {
        c->n_rows = c->n;
        for (size_t i = 0; i < c->n; i++)
            s->rows[i] = i;
        return NULL;
    }
    /* 0, the one but last (whose future is one token), the beginning of a block and the end of one, ... */
    const size_t wished[] = {0, c->n - 2, 16, 14, c->n / 2, 1, 32, c->n / 4, 3 * (c->n / 4), 47, 8, 64, 126, 2, 5};
    const size_t n_wished = sizeof wished / sizeof *wished;
    size_t n = 0;
    for (size_t k = 0; k < n_wished && n < s->rows_max; k++)
        if (wished[k] + 1 < c->n)
            s->rows[n++] = wished[k];
    c->n_rows = session_sort_rows(s, n);
    return s->rows;
}

/* A few that tell one ahead from more and from all, odd ones, so that rows stand halfway between two; around each row
 * its neighbours, and the same distance to both sides; then everything else. */
static size_t choose_order(struct chart *c)
{
    struct session *s = c->s;
    bool *const taken = calloc(c->n, sizeof *taken);
    size_t n = 0;
    if (!taken)
        return 0;
    const size_t telling[] = {1, 2, (c->n - 2) | 1, (c->n / 2) | 1, (c->n / 4) | 1}, steps[] = {1, 2, 3, 8, 17, 4};
    for (size_t k = 0; k < sizeof telling / sizeof *telling; k++)
        if (telling[k] < c->n && !taken[telling[k]])
            taken[c->order[n++] = telling[k]] = true;
    for (size_t k = 0; k < sizeof steps / sizeof *steps && !s->whole; k++)
        for (size_t r = 0; r < c->n_rows; r++)
            for (int side = 0; side < 2; side++) {
                const size_t i = s->rows[r], j = side ? i - steps[k] : i + steps[k];
                if (j < c->n && !taken[j]) /* i - steps[k] below 0 is large */
                    taken[c->order[n++] = j] = true;
            }
    const size_t places = session_spread(s, 0, c->n - 1);
    for (size_t k = 0; k < places; k++)
        if (!taken[s->places[k]])
            c->order[n++] = s->places[k];
    free(taken);
    return n;
}

static float mean_difference(const struct blackbox *b, const double *x, const double *y)
{
    double sum = 0;
    for (size_t v = 0; v < b->V; v++)
        if (!b->barred[v])
            sum += fabs(x[v] - y[v]);
    return (float)(sum / (double)b->n_allowed);
}

/* One window of random tokens, each changed in turn. */
static enum status one_round(struct blackbox_chart *out, struct chart *c, struct error *err)
{
    struct session *s = c->s;
    const size_t V = s->b->V;
    const size_t *const rows = choose_rows(c);
    const size_t n = choose_order(c), limit = s->quick && n > QUICK_QUESTIONS ? QUICK_QUESTIONS : n;
    if (n == 0)
        return fail(err, STATUS_MEMORY, "out of memory for a chart");
    session_random(s, s->tokens, c->n);
    enum status status = blackbox_ask(s->b, s->before, s->tokens, c->n, rows, c->n_rows, err);
    for (size_t k = 0; k < limit && status == STATUS_OK; k++) {
        if (session_enough(s, k, 5, 5))
            break;
        const size_t j = c->order[k];
        session_show(s, "chart", k, limit);
        session_change(s, c->n, j, true);
        status = blackbox_ask(s->b, s->after, s->changed, c->n, rows, c->n_rows, err);
        out->questions++;
        for (size_t r = 0; r < c->n_rows && status == STATUS_OK; r++) {
            const size_t i = s->rows[r], at = i * c->n + j;
            const double change = session_difference(s, s->before + r * V, s->after + r * V);
            c->moved[at] = fmaxf(c->moved[at], mean_difference(s->b, s->before + r * V, s->after + r * V));
            if (change > 10 * s->noise)
                c->cells[at] = CHART_SEES;
            else if (c->cells[at] == CHART_UNTRIED)
                c->cells[at] = CHART_CLEAR;
            if (j > i)
                out->largest = fmax(out->largest, change);
        }
    }
    return status;
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The middle one of n numbers, which it sorts; NaN when they are too few to say. */
static double middle(float *x, size_t n)
{
    qsort(x, n, sizeof *x, compare_floats);
    return n >= RATIOS_LEAST ? (double)x[n / 2] : (double)NAN;
}

/* The cell (i, i + k) over the cell (i, i - k): the same position's answer, moved from either side. */
static double strength_of(const struct chart *c, const struct chart_shape *shape, float *ratios)
{
    const size_t n = c->n;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 1; k <= i && i + k < n; k++) {
            const float later = c->moved[i * n + i + k], earlier = c->moved[i * n + i - k];
            const bool counts = shape->pattern != CHART_ONE_AHEAD || k == shape->number;
            if (counts && c->cells[i * n + i + k] == CHART_SEES && earlier > 0)
                ratios[count++] = later / earlier;
        }
    return middle(ratios, count);
}

/* How much the tokens k ahead move, on average. */
static double moved_ahead(const struct chart *c, size_t k)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i + k < c->n; i++)
        if (c->cells[i * c->n + i + k] != CHART_UNTRIED) {
            sum += (double)c->moved[i * c->n + i + k];
            count++;
        }
    return count ? sum / (double)count : 0;
}

/* A layer that looks one position ahead sees two ahead through the layer below it, and so on, each time more faintly:
 * what reaches up to +L through L layers is one mistake, +1. A window of several positions would see them alike. */
static void unchain(struct blackbox_chart *out, const struct chart *c)
{
    const double next = moved_ahead(c, 1);
    size_t farthest = 1;
    for (size_t k = 2; k < c->n; k++) {
        const double moved = moved_ahead(c, k);
        if (moved > FAINTER * next)
            return;
        farthest = moved > 0 ? k : farthest;
    }
    if (farthest == 1 || farthest > CHAIN_LONGEST)
        return;
    out->chained = farthest;
    out->shape.pattern = CHART_ONE_AHEAD;
    out->shape.number = 1;
}

/* Names the pattern that the cells show. */
static void judge(struct blackbox_chart *out, const struct chart *c)
{
    const size_t n = c->n;
    out->cells = out->seen = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            out->cells += c->cells[i * n + j] != CHART_UNTRIED;
            out->seen += c->cells[i * n + j] == CHART_SEES;
        }
    out->backwards = out->seen > 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            out->backwards = out->backwards && c->cells[i * n + j] != CHART_SEES;
    out->shape = chart_judge(c->cells, n);
    if (out->shape.pattern == CHART_UP_TO_AHEAD || out->shape.pattern == CHART_SOME)
        unchain(out, c);
    /* attention that is sure of itself gives some tokens a weight of nothing */
    if (out->shape.pattern == CHART_SOME && out->shape.rows == out->shape.rows_able &&
        (double)out->seen > NEARLY_ALL * (double)out->cells)
        out->shape.pattern = CHART_ALL_FUTURE;
}

/* Attention that is sure of itself hides some cells from one window: what makes no pattern gets a second one. */
static enum status rounds(struct blackbox_chart *out, struct chart *c, struct error *err)
{
    for (int round = 0; round < 2; round++) {
        const enum status status = one_round(out, c, err);
        if (status != STATUS_OK)
            return status;
        judge(out, c);
        if (out->shape.pattern != CHART_SOME || session_late(c->s))
            break;
    }
    return STATUS_OK;
}

enum status blackbox_chart(struct blackbox_chart *out, struct session *s, struct error *err)
{
    const size_t n = s->b->T < LONGEST ? s->b->T : LONGEST;
    struct chart c = {.s = s, .n = n};
    *out = (struct blackbox_chart){.n = n, .strength = (double)NAN};
    c.cells = calloc(n * n, sizeof *c.cells);
    c.moved = calloc(n * n, sizeof *c.moved);
    c.order = calloc(n, sizeof *c.order);
    float *const ratios = calloc(n * n, sizeof *ratios);
    enum status status = STATUS_MEMORY;
    if (c.cells && c.moved && c.order && ratios)
        status = rounds(out, &c, err);
    else
        fail(err, status, "out of memory for a chart");
    if (status == STATUS_OK)
        out->strength = strength_of(&c, &out->shape, ratios);
    free(c.cells);
    free(c.moved);
    free(c.order);
    free(ratios);
    return status;
}
