#include "base/timings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum status timings_create(struct timings *t, size_t room, struct error *err)
{
    assert(room > 0);
    *t = (struct timings){.seconds = calloc(room, sizeof *t->seconds), .room = room};
    if (!t->seconds)
        return fail(err, STATUS_MEMORY, "room for %zu times was refused", room);
    return STATUS_OK;
}

void timings_free(struct timings *t)
{
    free(t->seconds);
    *t = (struct timings){0};
}

void timings_add(struct timings *t, double seconds)
{
    assert(t->count < t->room);
    t->seconds[t->count++] = seconds;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double timings_quantile(struct timings *t, double q)
{
    assert(q >= 0 && q <= 1);
    if (t->count == 0)
        return (double)NAN;
    qsort(t->seconds, t->count, sizeof *t->seconds, by_value);
    const double place = q * (double)(t->count - 1);
    const size_t below = (size_t)place;
    const size_t above = below + 1 < t->count ? below + 1 : below;
    const double part = place - (double)below;
    return t->seconds[below] * (1 - part) + t->seconds[above] * part;
}
