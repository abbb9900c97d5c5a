#include "lab/bench_attention.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/team.h"
#include "kernels/attention_ref.h"
#include "lab/timings.h"

#define TURNS 200 /* the most in one bout */

/* What a pass reads and writes; the layout is the block's. */
struct field {
    struct attention_shape shape;
    real *qkv, *dqkv;           /* (B,T,3C) */
    real *y, *dy;               /* (B,T,C) */
    struct attention_rows rows; /* each (B,H,T) */
    real *kept;                 /* what a kernel keeps from forward to backward */
    real *scratch;
};

/* One way of computing it. */
struct kernel {
    const char *name;
    size_t (*kept)(const struct attention_shape *s);    /* reals */
    size_t (*scratch)(const struct attention_shape *s); /* reals a lane */
    void (*forward)(const struct lane *lane, const struct field *f);
    void (*backward)(const struct lane *lane, const struct field *f);
};

static size_t ref_kept(const struct attention_shape *s)
{
    return s->B * s->H * s->T_q * s->T_k;
}

static void ref_forward(const struct lane *lane, const struct field *f)
{
    const size_t C = f->shape.H * f->shape.hs;
    attention_ref_forward(lane, f->y, &f->rows, f->kept, f->qkv, f->qkv + C, f->qkv + 2 * C, &f->shape, NULL,
                          f->scratch);
}

static void ref_backward(const struct lane *lane, const struct field *f)
{
    const size_t C = f->shape.H * f->shape.hs;
    attention_ref_backward(lane, f->dqkv, f->dqkv + C, f->dqkv + 2 * C, f->dy, f->kept, f->qkv, f->qkv + C,
                           f->qkv + 2 * C, &f->shape, NULL, f->scratch);
}

static const struct kernel kernels[BENCH_ATTENTION_KERNELS] = {
    {"reference", ref_kept, attention_ref_scratch, ref_forward, ref_backward},
};

double bench_attention_flops(const struct bench_attention_options *o)
{
    return 6 * (double)o->T * (double)(o->H * o->hs) * (double)o->B * (double)o->T;
}

/* Runs twice: on a measuring arena, then on the placed one. Kernels take turns with the same memory. */
static void layout(struct field *f, struct arena *a, struct team team)
{
    const struct attention_shape *s = &f->shape;
    const size_t N = s->B * s->T_q, C = s->H * s->hs, rows = s->B * s->H * s->T_q;
    size_t kept = 0, scratch = 0;
    for (size_t k = 0; k < BENCH_ATTENTION_KERNELS; k++) {
        kept = kernels[k].kept(s) > kept ? kernels[k].kept(s) : kept;
        scratch = kernels[k].scratch(s) > scratch ? kernels[k].scratch(s) : scratch;
    }
    f->qkv = arena_take(a, N * 3 * C, sizeof(real));
    f->dqkv = arena_take(a, N * 3 * C, sizeof(real));
    f->y = arena_take(a, N * C, sizeof(real));
    f->dy = arena_take(a, N * C, sizeof(real));
    f->rows.lse = arena_take(a, rows, sizeof(real));
    f->rows.entropy = arena_take(a, rows, sizeof(real));
    f->rows.max_score = arena_take(a, rows, sizeof(real));
    f->kept = arena_take(a, kept, sizeof(real));
    f->scratch = arena_take(a, (size_t)team.threads * scratch, sizeof(real));
}

/* Sizes whose products, in bytes, fit: the largest are the reference's weights. */
static bool fits(const struct bench_attention_options *o)
{
    size_t n;
    return checked_mul(&n, o->B, o->H) && checked_mul(&n, n, o->hs) && checked_mul(&n, n, o->T) &&
           checked_mul(&n, n, o->T) && checked_mul(&n, n, 8 * sizeof(real) * (size_t)o->team.threads);
}

static enum status prepare(struct field *f, struct arena *a, const enum attention_rule *rules,
                           const struct bench_attention_options *o, struct error *err)
{
    const size_t T = o->T, C = o->H * o->hs;
    *f = (struct field){.shape = {.B = o->B,
                                  .H = o->H,
                                  .H_kv = o->H,
                                  .hs = o->hs,
                                  .T_q = T,
                                  .T_k = T,
                                  .q_batch = T * 3 * C,
                                  .k_batch = T * 3 * C,
                                  .v_batch = T * 3 * C,
                                  .y_batch = T * C,
                                  .q_stride = 3 * C,
                                  .k_stride = 3 * C,
                                  .v_stride = 3 * C,
                                  .y_stride = C,
                                  .scale = (real)(1 / sqrt((double)o->hs)),
                                  .rules = rules}};
    layout(f, a, o->team);
    const enum status s = arena_place(a, err);
    if (s)
        return s;
    layout(f, a, o->team);
    struct rng_site site = {.seed = 1, .purpose = RNG_INIT};
    for (size_t i = 0; i < o->B * T * 3 * C; i++)
        f->qkv[i] = (real)rng_normal(&site, (uint32_t)i);
    site.layer = 1;
    for (size_t i = 0; i < o->B * T * C; i++)
        f->dy[i] = (real)rng_normal(&site, (uint32_t)i);
    return STATUS_OK;
}

struct call {
    const struct field *f;
    void (*pass)(const struct lane *lane, const struct field *f);
};

static void call_lane(const struct lane *lane, void *context)
{
    const struct call *c = context;
    c->pass(lane, c->f);
}

static double timed(struct team team, const struct field *f, void (*pass)(const struct lane *, const struct field *))
{
    struct call c = {f, pass};
    const double start = clock_seconds();
    team_run(team, call_lane, &c);
    return clock_seconds() - start;
}

static enum status measure(struct timings (*t)[2], const struct field *f, const struct bench_attention_options *o,
                           struct error *err)
{
    const size_t total = o->repeats * BENCH_ATTENTION_KERNELS;
    for (size_t turn = 0; turn < total; turn++) {
        const struct kernel *k = &kernels[turn % BENCH_ATTENTION_KERNELS];
        struct timings *own = t[turn % BENCH_ATTENTION_KERNELS];
        if (turn < BENCH_ATTENTION_KERNELS) { /* once for warmth */
            timed(o->team, f, k->forward);
            timed(o->team, f, k->backward);
        }
        const double start = clock_seconds();
        for (size_t i = 0; i == 0 || (i < TURNS && clock_seconds() - start < o->bout); i++) {
            timings_add(&own[0], timed(o->team, f, k->forward));
            timings_add(&own[1], timed(o->team, f, k->backward));
        }
        if (o->progress && o->progress(o->context, turn + 1, total))
            return fail(err, STATUS_INTERRUPTED, "interrupted");
    }
    return STATUS_OK;
}

enum status bench_attention_run(struct bench_attention out[BENCH_ATTENTION_KERNELS],
                                const struct bench_attention_options *o, struct error *err)
{
    assert(o->B > 0 && o->H > 0 && o->hs > 0 && o->T > 0 && o->team.threads > 0 && o->repeats > 0);
    if (!fits(o))
        return fail(err, STATUS_RANGE,
                    "attention of %zu x %zu heads of %zu over %zu positions overflows this machine's "
                    "addresses: choose smaller sizes",
                    o->B, o->H, o->hs, o->T);
    struct field f;
    struct arena arena = {0};
    struct timings t[BENCH_ATTENTION_KERNELS][2] = {{{0}}};
    enum attention_rule *rules = calloc(o->H, sizeof *rules); /* all causal */
    enum status s = rules ? STATUS_OK : fail(err, STATUS_MEMORY, "memory for %zu heads was refused", o->H);
    for (size_t i = 0; !s && i < (size_t)2 * BENCH_ATTENTION_KERNELS; i++)
        s = timings_create(&t[i / 2][i % 2], o->repeats * TURNS, err);
    if (!s)
        s = prepare(&f, &arena, rules, o, err);
    if (!s)
        s = measure(t, &f, o, err);
    for (size_t k = 0; k < BENCH_ATTENTION_KERNELS; k++) {
        const size_t lanes = (size_t)o->team.threads;
        if (!s)
            out[k] = (struct bench_attention){
                .name = kernels[k].name,
                .forward = timings_quantile(&t[k][0], 0.5),
                .backward = timings_quantile(&t[k][1], 0.5),
                .bytes = (kernels[k].kept(&f.shape) + lanes * kernels[k].scratch(&f.shape)) * sizeof(real)};
        timings_free(&t[k][0]);
        timings_free(&t[k][1]);
    }
    arena_free(&arena);
    free(rules);
    return s;
}
