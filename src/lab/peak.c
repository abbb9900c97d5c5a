#include "lab/peak.h"

#include <assert.h>

#include "base/clock.h"
#include "base/team.h"
#include "kernels/gemm.h"

static void layout(struct peak *p)
{
    const size_t lanes = (size_t)team_lanes(p->threads), square = p->n * p->n;
    p->a = arena_take(&p->arena, lanes * square, sizeof *p->a);
    p->b = arena_take(&p->arena, lanes * square, sizeof *p->b);
    p->c = arena_take(&p->arena, lanes * square, sizeof *p->c);
}

/* Each lane touches its own matrices first, so that they lie in memory near its core. */
static void fill_lane(const struct lane *lane, void *context)
{
    const struct peak *p = context;
    const size_t square = p->n * p->n, first = (size_t)lane->index * square;
    for (size_t i = first; i < first + square; i++) {
        p->a[i] = (real)((double)(i % 37) / 37 - 0.5);
        p->b[i] = (real)((double)(i % 41) / 41 - 0.5);
    }
}

enum status peak_create(struct peak *p, size_t n, int threads, struct error *err)
{
    assert(n > 0 && n < 1 << 15 && threads > 0);
    *p = (struct peak){.n = n, .threads = threads};
    layout(p);
    const enum status s = arena_place(&p->arena, err);
    if (s) {
        peak_free(p);
        return s;
    }
    layout(p);
    team_run(threads, fill_lane, p);
    return STATUS_OK;
}

void peak_free(struct peak *p)
{
    arena_free(&p->arena);
    *p = (struct peak){0};
}

static void multiply_lane(const struct lane *lane, void *context)
{
    const struct peak *p = context;
    const size_t n = p->n, own = (size_t)lane->index * n * n;
    gemm(GEMM_PLAIN, GEMM_PLAIN, n, n, n, 1, p->a + own, n, p->b + own, n, 0, p->c + own, n);
}

double peak_measure(struct peak *p)
{
    const double start = clock_seconds(), n = (double)p->n;
    team_run(p->threads, multiply_lane, p);
    return 2 * n * n * n * team_lanes(p->threads) / (clock_seconds() - start);
}
