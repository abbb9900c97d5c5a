#include "report/thin.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

bool thin_make(struct thin *t, size_t series, size_t most)
{
    assert(most > 0 && most % 2 == 0);
    *t = (struct thin){.series = series, .most = most, .width = 1};
    t->first = malloc(most * sizeof *t->first);
    t->end = malloc(most * sizeof *t->end);
    t->pair = malloc(most * (series ? series : 1) * sizeof *t->pair);
    if (t->first && t->end && t->pair)
        return true;
    thin_free(t);
    return false;
}

void thin_free(struct thin *t)
{
    free(t->first);
    free(t->end);
    free(t->pair);
    *t = (struct thin){0};
}

/* Of equals the earlier stays. */
static void join(struct thin_pair *into, const struct thin_pair *later)
{
    if (isnan(into->low) || later->low < into->low) {
        into->low = later->low;
        into->low_at = later->low_at;
    }
    if (isnan(into->high) || later->high > into->high) {
        into->high = later->high;
        into->high_at = later->high_at;
    }
}

static void halve(struct thin *t)
{
    for (size_t b = 0; b < t->bins / 2; b++) {
        t->first[b] = t->first[2 * b];
        t->end[b] = t->end[2 * b + 1];
        for (size_t s = 0; s < t->series; s++) {
            struct thin_pair both = t->pair[2 * b * t->series + s];
            join(&both, &t->pair[(2 * b + 1) * t->series + s]);
            t->pair[b * t->series + s] = both;
        }
    }
    t->bins /= 2;
    t->width *= 2;
    t->last = t->width;
}

void thin_add(struct thin *t, double x, const double *y)
{
    const bool begins = t->bins == 0 || t->last == t->width;
    if (begins && t->bins == t->most)
        halve(t);
    if (begins) {
        t->first[t->bins] = x;
        t->bins++;
        t->last = 0;
    }
    t->last++;
    t->end[t->bins - 1] = x;
    struct thin_pair *bin = t->pair + (t->bins - 1) * t->series;
    for (size_t s = 0; s < t->series; s++) {
        const double v = isfinite(y[s]) ? y[s] : (double)NAN;
        const struct thin_pair point = {v, v, x, x};
        if (begins)
            bin[s] = point;
        else
            join(&bin[s], &point);
    }
}

size_t thin_points(double x[2], double y[2], const struct thin *t, size_t bin, size_t series)
{
    const struct thin_pair *p = &t->pair[bin * t->series + series];
    const bool falls = p->high_at < p->low_at;
    x[0] = isnan(p->low) ? t->first[bin] : falls ? p->high_at : p->low_at;
    y[0] = falls ? p->high : p->low;
    x[1] = falls ? p->low_at : p->high_at;
    y[1] = falls ? p->low : p->high;
    return isnan(p->low) || p->low_at == p->high_at || p->low == p->high ? 1 : 2;
}
