#include "lab/peak.h"

#include <assert.h>

#include "base/clock.h"
#include "base/team.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"

static void layout(struct peak *p)
{
    const size_t lanes = (size_t)p->team.threads, square = p->n * p->n;
    p->a = arena_take(&p->arena, lanes * square, sizeof *p->a);
    p->b = arena_take(&p->arena, lanes * square, sizeof *p->b);
    p->c = arena_take(&p->arena, lanes * square, sizeof *p->c);
    p->left = arena_take(&p->arena, lanes * gemm_bf16_a_size(p->n, p->n), sizeof *p->left);
    p->right = arena_take(&p->arena, lanes * gemm_bf16_b_size(p->n, p->n), sizeof *p->right);
}

static uint32_t *left_of(const struct lane *lane, const struct peak *p)
{
    return p->left + (size_t)lane->index * gemm_bf16_a_size(p->n, p->n);
}

static uint32_t *right_of(const struct lane *lane, const struct peak *p)
{
    return p->right + (size_t)lane->index * gemm_bf16_b_size(p->n, p->n);
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
    gemm_bf16_pack_a(lane, left_of(lane, p), GEMM_PLAIN, p->a + first, p->n, p->n, p->n);
    gemm_bf16_pack_b(lane, right_of(lane, p), GEMM_PLAIN, p->b + first, p->n, p->n, p->n, 0, gemm_bf16_panels(p->n));
}

enum status peak_create(struct peak *p, size_t n, struct team team, struct error *err)
{
    assert(n > 0 && n < 1 << 15 && team.threads > 0);
    *p = (struct peak){.n = n, .team = team};
    layout(p);
    const enum status s = arena_place(&p->arena, err);
    if (s) {
        peak_free(p);
        return s;
    }
    layout(p);
    team_run(team, fill_lane, p);
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

static void multiply_bf16_lane(const struct lane *lane, void *context)
{
    const struct peak *p = context;
    const size_t n = p->n, own = (size_t)lane->index * n * n;
    gemm_bf16(lane, p->c + own, n, n, n, n, left_of(lane, p), right_of(lane, p), false);
}

static double rate(struct peak *p, void (*multiply)(const struct lane *lane, void *context))
{
    const double start = clock_seconds(), n = (double)p->n;
    team_run(p->team, multiply, p);
    return 2 * n * n * n * p->team.threads / (clock_seconds() - start);
}

double peak_measure(struct peak *p)
{
    return rate(p, multiply_lane);
}

double peak_measure_bf16(struct peak *p)
{
    return rate(p, multiply_bf16_lane);
}
