#include "lab/cost.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "kernels/attention.h"
#include "kernels/attention_ref.h"
#include "lab/drill.h"
#include "model/optimizer.h"

#define REPEATS 15 /* at most */
#define ENOUGH 0.5 /* seconds, after which a length is not measured again */
#define SYMBOLS 65 /* of the text of the training step */
#define STEP_LAYERS 4

double cost_exponent(const double *x, const double *y, size_t n)
{
    const size_t first = n > COST_FIT ? n - COST_FIT : 0;
    if (n - first < 2)
        return (double)NAN;
    const double count = (double)(n - first);
    double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
    for (size_t i = first; i < n; i++) {
        x_mean += log(x[i]) / count;
        y_mean += log(y[i]) / count;
    }
    for (size_t i = first; i < n; i++) {
        xx += pow(log(x[i]) - x_mean, 2);
        xy += (log(x[i]) - x_mean) * (log(y[i]) - y_mean);
    }
    return xy / xx;
}

/* One attention over q, k, v side by side, as a block calls it. */
struct job {
    enum cost_kind kind;
    struct attention_shape shape;
    struct team team;
    real *qkv, *y, *dqkv, *dy; /* (T,3C), (T,C), (T,3C), (T,C) */
    struct attention_rows rows;
    struct attention_kept kept;
    real *weights, *scratch;
};

static void layout(struct job *j, struct arena *a)
{
    const struct attention_shape *s = &j->shape;
    const size_t C = s->H * s->hs, T = s->T_q, rows = s->H * T, lanes = (size_t)j->team.threads;
    j->qkv = arena_take(a, T * 3 * C, sizeof *j->qkv);
    j->dqkv = arena_take(a, T * 3 * C, sizeof *j->dqkv);
    j->y = arena_take(a, T * C, sizeof *j->y);
    j->dy = arena_take(a, T * C, sizeof *j->dy);
    j->rows.lse = arena_take(a, rows, sizeof(real));
    j->rows.entropy = arena_take(a, rows, sizeof(real));
    j->rows.max_score = arena_take(a, rows, sizeof(real));
    if (j->kind == COST_REFERENCE) {
        j->weights = arena_take(a, rows * T, sizeof(real));
        j->scratch = arena_take(a, lanes * attention_ref_scratch(s), sizeof(real));
    } else {
        j->kept.max = arena_take(a, rows, sizeof(real));
        j->kept.share = arena_take(a, rows, sizeof(real));
        j->scratch = arena_take(a, attention_scratch(s, (int)lanes), sizeof(real));
    }
}

static const enum attention_rule causal[64] = {ATTENTION_CAUSAL};

static struct job job_of(enum cost_kind kind, const struct cost_options *o, size_t heads, size_t T)
{
    const size_t C = heads * o->head_size;
    return (struct job){
        .kind = kind,
        .team = o->team,
        .shape = {.B = 1,
                  .H = heads,
                  .H_kv = heads,
                  .hs = o->head_size,
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
                  .scale = (real)(1 / sqrt((double)o->head_size)),
                  .rules = causal},
    };
}

static void pass(const struct lane *lane, void *context)
{
    const struct job *j = context;
    const struct attention_shape *s = &j->shape;
    const size_t C = s->H * s->hs;
    const real *q = j->qkv, *k = q + C, *v = q + 2 * C;
    real *dq = j->dqkv, *dk = dq + C, *dv = dq + 2 * C;
    if (j->kind == COST_REFERENCE) {
        attention_ref_forward(lane, j->y, &j->rows, j->weights, q, k, v, s, NULL, j->scratch);
        lane_barrier(lane);
        attention_ref_backward(lane, dq, dk, dv, j->dy, j->weights, q, k, v, s, NULL, j->scratch);
    } else {
        attention_forward(lane, j->y, &j->rows, &j->kept, q, k, v, s, NULL, j->scratch);
        lane_barrier(lane);
        attention_backward(lane, dq, dk, dv, j->dy, j->y, &j->kept, q, k, v, s, NULL, j->scratch);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Time of one pass, first of all to warm up. */
static double time_pass(struct job *j)
{
    const double start = clock_seconds();
    team_run(j->team, pass, j);
    return clock_seconds() - start;
}

static size_t bytes_of(const struct job *j)
{
    struct arena a = {0};
    struct job copy = *j;
    layout(&copy, &a);
    return a.overflow ? (size_t)-1 : a.used;
}

static enum status measure(struct cost_point *p, struct job *j, struct error *err)
{
    struct arena a = {0};
    layout(j, &a);
    *p = (struct cost_point){.T = j->shape.T_q, .bytes = a.used};
    const bool forgot = memory_forget_peak();
    const size_t before = memory_peak();
    const enum status s = arena_place(&a, err);
    if (s)
        return s;
    layout(j, &a);
    const struct rng_site site = {.seed = 1, .purpose = RNG_CHECK, .head = 30};
    const size_t n = j->shape.T_q * j->shape.H * j->shape.hs;
    for (size_t i = 0; i < 3 * n; i++)
        j->qkv[i] = (real)(2 * rng_uniform(&site, (uint32_t)i) - 1);
    for (size_t i = 0; i < n; i++)
        j->dy[i] = (real)(2 * rng_uniform(&site, (uint32_t)(3 * n + i)) - 1);
    double seconds[REPEATS], spent = time_pass(j);
    size_t times = 0;
    /* what took long need not be warmed up */
    if (spent > ENOUGH)
        seconds[times++] = spent;
    while (times < REPEATS && spent < ENOUGH)
        spent += seconds[times++] = time_pass(j);
    qsort(seconds, times, sizeof *seconds, by_size);
    p->seconds = seconds[times / 2];
    const size_t peak = memory_peak();
    p->resident = forgot && peak > before ? peak - before : 0;
    arena_free(&a);
    return STATUS_OK;
}

static enum status ask(const struct cost_options *o, const char *what, size_t T, struct error *err)
{
    if (o->progress && o->progress(o->context, what, T))
        return fail(err, STATUS_INTERRUPTED, "interrupted");
    return STATUS_OK;
}

static enum status measure_lengths(struct cost *c, const struct cost_options *o, struct error *err)
{
    static const char *const names[] = {"reference", "tiled"};
    enum status s = STATUS_OK;
    for (size_t T = COST_FIRST; !s && T <= o->most && c->n[COST_TILED] < COST_LENGTHS; T *= 2)
        for (int kind = COST_REFERENCE; !s && kind < COST_KINDS; kind++) {
            struct job j = job_of((enum cost_kind)kind, o, c->heads, T);
            if (kind == COST_REFERENCE) {
                const size_t bytes = bytes_of(&j), available = memory_available();
                if (c->refused_T)
                    continue;
                if (bytes == (size_t)-1 || (available > 0 && bytes > available / 4 * 3)) {
                    c->refused_T = T;
                    c->refused_bytes = bytes;
                    c->available = available;
                    continue;
                }
            }
            s = ask(o, names[kind], T, err);
            if (!s)
                s = measure(&c->point[kind][c->n[kind]], &j, err);
            if (s == STATUS_MEMORY && kind == COST_REFERENCE) { /* the system thinks otherwise */
                c->refused_T = T;
                c->refused_bytes = bytes_of(&j);
                s = STATUS_OK;
            } else {
                c->n[kind] += !s;
            }
        }
    return s;
}

static void fit(struct cost *c)
{
    for (int kind = 0; kind < COST_KINDS; kind++) {
        double T[COST_LENGTHS], seconds[COST_LENGTHS], bytes[COST_LENGTHS];
        for (size_t i = 0; i < c->n[kind]; i++) {
            T[i] = (double)c->point[kind][i].T;
            seconds[i] = c->point[kind][i].seconds;
            bytes[i] = (double)c->point[kind][i].bytes;
        }
        c->time_exponent[kind] = cost_exponent(T, seconds, c->n[kind]);
        c->memory_exponent[kind] = cost_exponent(T, bytes, c->n[kind]);
    }
}

static enum status train(struct cost_step *r, struct gpt *g, struct work *w, struct error *err)
{
    const size_t count = 2 * r->T + 2;
    uint32_t *ids = malloc(count * sizeof *ids);
    if (!ids)
        return fail(err, STATUS_MEMORY, "lab: a text of %zu symbols was refused memory", count);
    const struct rng_site site = {.seed = 1, .purpose = RNG_CHECK, .head = 31};
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint32_t)rng_below(&site, (uint32_t)i, SYMBOLS);
    const struct dataset data = {.ids = ids, .width = 4, .count = count, .train = count};
    params_init(g->params, &g->table, &g->config, 1);
    struct drill d = {.g = g, .w = w, .data = &data, .lr = 1e-3, .seed = 1};
    const bool forgot = memory_forget_peak();
    const double start = clock_seconds();
    const enum status s = drill_run(&d, 1, err);
    r->seconds = clock_seconds() - start;
    r->resident = forgot ? memory_peak() : 0;
    free(ids);
    return s;
}

static enum status measure_step(struct cost *c, const struct cost_options *o, struct error *err)
{
    struct cost_step *r = &c->step;
    const struct config config = config_make(STEP_LAYERS, c->heads, c->heads * o->head_size, o->step, SYMBOLS);
    *r = (struct cost_step){.T = o->step, .n_layer = config.n_layer, .n_head = config.n_head, .n_embd = config.n_embd};
    struct gpt g;
    struct work w;
    enum status s = ask(o, "a training step", o->step, err);
    if (!s)
        s = gpt_create(&g, &config, err);
    if (s)
        return s;
    s = work_create(&w, &config, 1, o->step, true, o->team, err);
    if (!s) {
        struct arena a = {0};
        struct optimizer optimizer;
        optimizer_layout(&optimizer, &a, g.table.size);
        r->parameters = g.table.size;
        r->bytes = w.arena.size + a.used + g.table.size * sizeof(real);
        s = train(r, &g, &w, err);
        work_free(&w);
    }
    gpt_free(&g);
    return s;
}

enum status cost_run(struct cost *c, const struct cost_options *o, struct error *err)
{
    assert(o->most >= COST_FIRST && o->head_size > 0 && o->team.threads > 0);
    const size_t lanes = (size_t)o->team.threads;
    *c = (struct cost){.heads = lanes < sizeof causal / sizeof *causal ? lanes : sizeof causal / sizeof *causal};
    enum status s = measure_lengths(c, o, err);
    if (!s)
        fit(c);
    if (!s && o->step)
        s = measure_step(c, o, err);
    return s;
}
