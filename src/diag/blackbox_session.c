#include "diag/blackbox_session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/rng.h"

/* Numbers in one answer: as lines of text, some megabytes at most. */
#define WHOLE_NUMBERS ((size_t)1 << 16)
#define SOME_NUMBERS ((size_t)1 << 15)
#define ROWS_LEAST ((size_t)4)
#define ROWS_MOST ((size_t)64)
/* When answers are slow: an eighth of the rows, and these at least. The usual check asks so many questions or more. */
#define ROWS_SLOW ((size_t)2)
#define USUAL_QUESTIONS 80.0

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum status session_open(struct session *s, struct error *err)
{
    const size_t V = s->b->V, T = s->b->T;
    s->whole = V <= WHOLE_NUMBERS / T;
    const size_t some = SOME_NUMBERS / V < ROWS_LEAST ? ROWS_LEAST : smaller(SOME_NUMBERS / V, ROWS_MOST);
    s->rows_max = s->whole ? T : smaller(some, T);
    size_t numbers;
    const bool fits = checked_mul(&numbers, s->rows_max, V);
    s->tokens = calloc(T, sizeof *s->tokens);
    s->changed = calloc(T, sizeof *s->changed);
    s->rows = calloc(T < 3 ? 3 : T, sizeof *s->rows); /* doubles are dropped after they were chosen */
    s->places = calloc(T, sizeof *s->places);
    s->before = fits ? calloc(numbers, sizeof *s->before) : NULL;
    s->after = fits ? calloc(numbers, sizeof *s->after) : NULL;
    s->begin = s->started = clock_seconds();
    if (s->tokens && s->changed && s->rows && s->places && s->before && s->after)
        return STATUS_OK;
    session_close(s);
    return fail(err, STATUS_MEMORY, "out of memory for %zu rows of %zu symbols", s->rows_max, V);
}

void session_close(struct session *s)
{
    free(s->tokens);
    free(s->changed);
    free(s->rows);
    free(s->places);
    free(s->before);
    free(s->after);
    s->tokens = s->changed = NULL;
    s->rows = s->places = NULL;
    s->before = s->after = NULL;
}

bool session_pace(struct session *s, double all_rows, double one_row)
{
    s->slow = all_rows * USUAL_QUESTIONS > s->seconds;
    if (!s->slow || one_row > all_rows / 2 || s->rows_max <= ROWS_SLOW)
        return false;
    s->rows_max = s->rows_max / 8 < ROWS_SLOW ? ROWS_SLOW : s->rows_max / 8;
    s->whole = false;
    return true;
}

double session_tolerance(const struct session *s)
{
    return fmax(BLACKBOX_WORTHLESS, 10 * s->noise);
}

void session_begin(struct session *s, double share)
{
    s->started = clock_seconds();
    s->end = s->begin + share * s->seconds;
}

bool session_late(const struct session *s)
{
    return clock_seconds() >= s->end;
}

bool session_enough(const struct session *s, size_t done, size_t least, size_t slow)
{
    return done >= (s->slow ? slow : least) && session_late(s);
}

double session_spent(const struct session *s)
{
    return clock_seconds() - s->started;
}

void session_show(const struct session *s, const char *detector, size_t done, size_t of)
{
    if (s->progress)
        s->progress(s->context, detector, done, of);
}

static struct rng_site next_site(struct session *s)
{
    return (struct rng_site){.seed = s->seed, .purpose = RNG_CHECK, .step = s->draws++};
}

void session_random(struct session *s, uint32_t *tokens, size_t n)
{
    const struct rng_site site = next_site(s);
    for (size_t i = 0; i < n; i++)
        tokens[i] = s->b->n_allowed ? s->b->allowed[rng_below(&site, (uint32_t)i, s->b->n_allowed)]
                                    : (uint32_t)rng_below(&site, (uint32_t)i, s->b->V);
}

uint32_t session_other(struct session *s, uint32_t token)
{
    const struct rng_site site = next_site(s);
    const size_t n = s->b->n_allowed;
    size_t k = rng_below(&site, 0, n);
    if (s->b->allowed[k] == token)
        k = (k + 1 + rng_below(&site, 1, n - 1)) % n;
    return s->b->allowed[k];
}

void session_change(struct session *s, size_t n, size_t t, bool alone)
{
    memcpy(s->changed, s->tokens, n * sizeof *s->tokens);
    const size_t end = alone ? t + 1 : n;
    for (size_t i = t; i < end; i++)
        s->changed[i] = session_other(s, s->tokens[i]);
}

static bool is_edge(size_t t, size_t first, size_t last)
{
    if (t <= first + 1 || t + 1 >= last)
        return true;
    for (size_t near = t - 1; near <= t + 1; near++)
        if ((near & (near - 1)) == 0 || (near <= 128 && near % 16 == 0))
            return true;
    return false;
}

size_t session_spread(struct session *s, size_t first, size_t last)
{
    const size_t half = (first + (last - first) / 2) | 1, middle = half > last ? last : half;
    size_t n = 0, stride = 1;
    s->places[n++] = middle;
    for (size_t t = first; t <= last; t++)
        if (t != middle && is_edge(t, first, last))
            s->places[n++] = t;
    while (stride <= (last - first) / 2)
        stride *= 2;
    /* Multiples of the stride that are no multiples of twice it: each place in one round only. */
    for (size_t step = stride; step > 0; step /= 2)
        for (size_t k = step == stride ? 0 : step; k <= last - first; k += step == stride ? step : 2 * step)
            if (first + k != middle && !is_edge(first + k, first, last))
                s->places[n++] = first + k;
    return n;
}

static int compare_sizes(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

size_t session_sort_rows(struct session *s, size_t n)
{
    qsort(s->rows, n, sizeof *s->rows, compare_sizes);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || s->rows[i] != s->rows[i - 1])
            s->rows[kept++] = s->rows[i];
    return kept;
}

double session_difference(const struct session *s, const double *a, const double *b)
{
    double most = 0;
    for (size_t v = 0; v < s->b->V; v++)
        if (!s->b->barred[v])
            most = fmax(most, fabs(a[v] - b[v]));
    return most;
}
