#include "lab/cost.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "lab/drill.h"
#include "lab/lone_attention.h"
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

static enum lone_kind lone_of(enum cost_kind kind)
{
    return kind == COST_REFERENCE ? LONE_REFERENCE : LONE_TILED;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_pass(struct lone_attention *a)
{
    const double forward = lone_attention_forward(a);
    return forward + lone_attention_backward(a);
}

static enum status measure(struct cost_point *p, enum cost_kind kind, const struct lone_size *size, struct team team,
                           struct error *err)
{
    *p = (struct cost_point){.T = size->T};
    const bool forgot = memory_forget_peak();
    const size_t before = memory_peak();
    struct lone_attention a;
    const enum status s = lone_attention_create(&a, lone_of(kind), size, team, err);
    if (s)
        return s;
    p->bytes = a.arena.size;
    double seconds[REPEATS], spent = time_pass(&a);
    size_t times = 0;
    /* what took long need not be warmed up */
    if (spent > ENOUGH)
        seconds[times++] = spent;
    while (times < REPEATS && spent < ENOUGH)
        spent += seconds[times++] = time_pass(&a);
    qsort(seconds, times, sizeof *seconds, by_size);
    p->seconds = seconds[times / 2];
    const size_t peak = memory_peak();
    p->resident = forgot && peak > before ? peak - before : 0;
    lone_attention_free(&a);
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
    enum status s = STATUS_OK;
    for (size_t T = COST_FIRST; !s && T <= o->most && c->n[COST_TILED] < COST_LENGTHS; T *= 2)
        for (int kind = COST_REFERENCE; !s && kind < COST_KINDS; kind++) {
            const struct lone_size size = {1, c->heads, o->head_size, T};
            const size_t bytes = lone_attention_bytes(lone_of((enum cost_kind)kind), &size, o->team);
            if (kind == COST_REFERENCE) {
                const size_t available = memory_available();
                if (c->refused_T)
                    continue;
                if (bytes == (size_t)-1 || (available > 0 && bytes > available / 4 * 3)) {
                    c->refused_T = T;
                    c->refused_bytes = bytes;
                    c->available = available;
                    continue;
                }
            }
            s = ask(o, lone_attention_name(lone_of((enum cost_kind)kind)), T, err);
            if (!s)
                s = measure(&c->point[kind][c->n[kind]], (enum cost_kind)kind, &size, o->team, err);
            if (s == STATUS_MEMORY && kind == COST_REFERENCE) { /* the system thinks otherwise */
                c->refused_T = T;
                c->refused_bytes = bytes;
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
    *c = (struct cost){.heads = (size_t)o->team.threads};
    enum status s = measure_lengths(c, o, err);
    if (!s)
        fit(c);
    if (!s && o->step)
        s = measure_step(c, o, err);
    return s;
}
