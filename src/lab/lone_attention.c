#include "lab/lone_attention.h"

#include <math.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/rng.h"
#include "kernels/attention_ref.h"

const char *lone_attention_name(enum lone_kind kind)
{
    return kind == LONE_REFERENCE ? "reference" : "tiled";
}

/* Runs twice: on a measuring arena, then on the placed one. */
static void layout(struct lone_attention *a)
{
    const struct attention_shape *s = &a->shape;
    const size_t C = s->H * s->hs, N = s->B * s->T_q, rows = N * s->H, lanes = (size_t)a->team.threads;
    a->rules = arena_take(&a->arena, s->H, sizeof *a->rules);
    a->qkv = arena_take(&a->arena, N * 3 * C, sizeof *a->qkv);
    a->dqkv = arena_take(&a->arena, N * 3 * C, sizeof *a->dqkv);
    a->y = arena_take(&a->arena, N * C, sizeof *a->y);
    a->dy = arena_take(&a->arena, N * C, sizeof *a->dy);
    a->rows.lse = arena_take(&a->arena, rows, sizeof(real));
    a->rows.entropy = arena_take(&a->arena, rows, sizeof(real));
    a->rows.max_score = arena_take(&a->arena, rows, sizeof(real));
    if (a->kind == LONE_REFERENCE) {
        a->weights = arena_take(&a->arena, rows * s->T_k, sizeof *a->weights);
        a->scratch = arena_take(&a->arena, lanes * attention_ref_scratch(s), sizeof *a->scratch);
    } else {
        a->kept.max = arena_take(&a->arena, rows, sizeof(real));
        a->kept.share = arena_take(&a->arena, rows, sizeof(real));
        a->scratch = arena_take(&a->arena, attention_scratch(s, (int)lanes), sizeof *a->scratch);
    }
    a->shape.rules = a->rules;
}

/* Whether all sizes, in bytes, fit in size_t. */
static bool fits(enum lone_kind kind, const struct lone_size *n, struct team team)
{
    size_t rows, wide, square;
    const size_t each = 8 * sizeof(real) * (size_t)team.threads;
    return checked_mul(&rows, n->B, n->H) && checked_mul(&rows, rows, n->T) && checked_mul(&wide, rows, n->hs) &&
           checked_mul(&wide, wide, each) &&
           (kind == LONE_TILED || (checked_mul(&square, rows, n->T) && checked_mul(&square, square, each)));
}

static struct lone_attention measured(enum lone_kind kind, const struct lone_size *n, struct team team)
{
    const size_t C = n->H * n->hs;
    struct lone_attention a = {.kind = kind,
                               .team = team,
                               .shape = {.B = n->B,
                                         .H = n->H,
                                         .H_kv = n->H,
                                         .hs = n->hs,
                                         .T_q = n->T,
                                         .T_k = n->T,
                                         .q_batch = n->T * 3 * C,
                                         .k_batch = n->T * 3 * C,
                                         .v_batch = n->T * 3 * C,
                                         .y_batch = n->T * C,
                                         .q_stride = 3 * C,
                                         .k_stride = 3 * C,
                                         .v_stride = 3 * C,
                                         .y_stride = C,
                                         .scale = (real)(1 / sqrt((double)n->hs))}};
    if (fits(kind, n, team))
        layout(&a);
    else
        a.arena.overflow = true;
    return a;
}

size_t lone_attention_bytes(enum lone_kind kind, const struct lone_size *size, struct team team)
{
    const struct lone_attention a = measured(kind, size, team);
    return a.arena.overflow ? (size_t)-1 : a.arena.used;
}

enum status lone_attention_create(struct lone_attention *a, enum lone_kind kind, const struct lone_size *size,
                                  struct team team, struct error *err)
{
    *a = measured(kind, size, team);
    if (a->arena.overflow)
        return fail(err, STATUS_RANGE,
                    "attention of %zu x %zu heads of %zu over %zu positions overflows this machine's addresses: choose "
                    "smaller sizes",
                    size->B, size->H, size->hs, size->T);
    const enum status s = arena_place(&a->arena, err);
    if (s)
        return s;
    layout(a);
    for (size_t h = 0; h < size->H; h++)
        a->rules[h] = ATTENTION_CAUSAL;
    struct rng_site site = {.seed = 1, .purpose = RNG_CHECK, .head = 30};
    const size_t n = size->B * size->T * size->H * size->hs;
    for (size_t i = 0; i < 3 * n; i++)
        a->qkv[i] = (real)(2 * rng_uniform(&site, (uint32_t)i) - 1);
    site.layer = 1;
    for (size_t i = 0; i < n; i++)
        a->dy[i] = (real)(2 * rng_uniform(&site, (uint32_t)i) - 1);
    return STATUS_OK;
}

void lone_attention_free(struct lone_attention *a)
{
    arena_free(&a->arena);
    *a = (struct lone_attention){0};
}

static void forward_lane(const struct lane *lane, void *context)
{
    const struct lone_attention *a = context;
    const size_t C = a->shape.H * a->shape.hs;
    const real *q = a->qkv, *k = q + C, *v = k + C;
    if (a->kind == LONE_REFERENCE)
        attention_ref_forward(lane, a->y, &a->rows, a->weights, q, k, v, &a->shape, NULL, a->scratch);
    else
        attention_forward(lane, a->y, &a->rows, &a->kept, q, k, v, &a->shape, NULL, a->scratch);
}

static void backward_lane(const struct lane *lane, void *context)
{
    const struct lone_attention *a = context;
    const size_t C = a->shape.H * a->shape.hs;
    const real *q = a->qkv, *k = q + C, *v = k + C;
    real *dq = a->dqkv, *dk = dq + C, *dv = dk + C;
    if (a->kind == LONE_REFERENCE)
        attention_ref_backward(lane, dq, dk, dv, a->dy, a->weights, q, k, v, &a->shape, NULL, a->scratch);
    else
        attention_backward(lane, dq, dk, dv, a->dy, a->y, &a->kept, q, k, v, &a->shape, NULL, a->scratch);
}

static double timed(struct lone_attention *a, void (*pass)(const struct lane *lane, void *context))
{
    const double start = clock_seconds();
    team_run(a->team, pass, a);
    return clock_seconds() - start;
}

double lone_attention_forward(struct lone_attention *a)
{
    return timed(a, forward_lane);
}

double lone_attention_backward(struct lone_attention *a)
{
    return timed(a, backward_lane);
}
