#include "diag/head_probe.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "diag/attention_map.h"
#include "kernels/attention_shape.h"

static void layout(struct head_probe *p)
{
    struct arena *a = &p->arena;
    const size_t n = p->L * p->H;
    p->first = arena_take(a, n * p->weights, sizeof(real));
    double **const each[] = {&p->rms, &p->turn, &p->due, &p->share, &p->temperature, &p->from_uniform};
    for (size_t k = 0; k < sizeof each / sizeof *each; k++)
        *each[k] = arena_take(a, n, sizeof(double));
    p->distance = arena_take(a, n * p->H, sizeof(double));
}

/* The k-th weight that is kept of a head: even ones of W_Q, odd ones of W_K, evenly spread over rows and channels. */
static real weight(const struct head_probe *p, const struct gpt *g, size_t layer, size_t h, size_t k)
{
    const struct params_tensor *qkv = params_find(&g->table, PARAMS_QKV, layer);
    const size_t C = qkv->rows, of = C * p->hs, each = p->weights / 2, at = k / 2 * of / each;
    return g->params[qkv->offset + at / p->hs * 3 * C + k % 2 * C + h * p->hs + at % p->hs];
}

enum status head_probe_create(struct head_probe *p, const struct gpt *g, struct error *err)
{
    const struct config *c = &g->config;
    const size_t of = c->n_embd * c->head_size;
    *p = (struct head_probe){.L = c->n_layer,
                             .H = c->n_head,
                             .hs = c->head_size,
                             .weights = 2 * (of < HEAD_PROBE_WEIGHTS ? of : HEAD_PROBE_WEIGHTS)};
    layout(p);
    const enum status s = arena_place(&p->arena, err);
    if (s)
        return s;
    layout(p);
    for (size_t i = 0; i < p->L * p->H; i++) {
        double squares = 0;
        for (size_t k = 0; k < p->weights; k++) {
            const real x = weight(p, g, i / p->H, i % p->H, k);
            p->first[i * p->weights + k] = x;
            squares += (double)x * (double)x;
        }
        p->rms[i] = sqrt(squares / (double)p->weights);
    }
    return STATUS_OK;
}

void head_probe_free(struct head_probe *p)
{
    arena_free(&p->arena);
    *p = (struct head_probe){0};
}

void head_probe_count(struct head_probe *p, double lr)
{
    p->path += lr;
}

/* |b - (a.b / a.a) a| / |b|, which keeps the digits that sqrt(1 - cos^2) loses when there is hardly a turn. */
static double turn(const struct head_probe *p, const struct gpt *g, size_t i)
{
    const real *a = p->first + i * p->weights;
    double ab = 0, aa = 0, bb = 0, off = 0;
    for (size_t k = 0; k < p->weights; k++) {
        const double x = (double)a[k], y = (double)weight(p, g, i / p->H, i % p->H, k);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    if (aa == 0 || bb == 0) /* nothing to turn: only from or to something is a way */
        return aa == bb ? 0 : 1;
    for (size_t k = 0; k < p->weights; k++)
        off += pow((double)weight(p, g, i / p->H, i % p->H, k) - ab / aa * (double)a[k], 2);
    return sqrt(off / bb);
}

/* Sum of squares of what head h gives in one row, y_n[o] = sum_x att_n[h,x] W_O[h,x,o]. */
static double squares_of_part(const struct gpt *g, const real *att, size_t layer, size_t h)
{
    const struct params_tensor *proj = params_find(&g->table, PARAMS_PROJ, layer);
    const size_t C = proj->cols, hs = g->config.head_size;
    const real *w = g->params + proj->offset + h * hs * C;
    double sum = 0;
    for (size_t o = 0; o < C; o++) {
        double y = 0;
        for (size_t x = 0; x < hs; x++)
            y += (double)att[h * hs + x] * (double)w[x * C + o];
        sum += y * y;
    }
    return sum;
}

static double share(const struct gpt *g, const struct work *w, size_t layer, size_t h, size_t N)
{
    const struct block_acts *b = &w->block[layer];
    const size_t C = g->config.n_embd, rows = N < HEAD_PROBE_ROWS ? N : HEAD_PROBE_ROWS;
    double part = 0, whole = 0;
    for (size_t k = 0; k < rows; k++) {
        const size_t n = k * N / rows;
        part += squares_of_part(g, b->att + n * C, layer, h);
        for (size_t c = 0; c < C; c++)
            whole += (double)b->mid[n * C + c] * (double)b->mid[n * C + c];
    }
    return sqrt(part / whole);
}

/* Largest q.k / sqrt(hs) that a position's row of scores would have. */
static double largest_product(const struct gpt *g, const struct work *w, size_t layer, size_t h, size_t b, size_t T,
                              size_t t)
{
    const size_t C = g->config.n_embd, hs = g->config.head_size;
    const real *qkv = w->block[layer].qkv + b * T * 3 * C, *q = qkv + t * 3 * C + h * hs;
    const struct attention_interval keys =
        attention_shape_keys(g->rules[layer * g->config.n_head + h], g->config.window, T, T, t);
    double largest = -INFINITY;
    for (size_t j = keys.begin; j < keys.end; j++) {
        double product = 0;
        for (size_t x = 0; x < hs; x++)
            product += (double)q[x] * (double)qkv[j * 3 * C + C + h * hs + x];
        largest = fmax(largest, product);
    }
    return largest / sqrt((double)hs);
}

static double temperature(const struct gpt *g, const struct work *w, size_t layer, size_t h, size_t B, size_t T)
{
    double best = 0, score = 0;
    for (size_t b = 0; b < B; b++) {
        const double x = largest_product(g, w, layer, h, b, T, T - 1);
        if (fabs(x) > fabs(best)) {
            best = x;
            score = (double)w->block[layer].rows.max_score[(b * g->config.n_head + h) * T + T - 1];
        }
    }
    /* A ratio of two numbers near 0 says nothing; nor does one that is not positive, as rounding can make it. */
    return fabs(best) > 1e-3 && best / score > 0 ? best / score : (double)NAN;
}

struct head_watch_probe head_probe_measure(struct head_probe *p, const struct gpt *g, const struct work *w, size_t B,
                                           size_t T)
{
    for (size_t i = 0; i < p->L * p->H; i++) {
        p->turn[i] = turn(p, g, i);
        p->due[i] = p->path / p->rms[i];
        p->share[i] = share(g, w, i / p->H, i % p->H, B * T);
        p->temperature[i] = temperature(g, w, i / p->H, i % p->H, B, T);
    }
    return (struct head_watch_probe){p->turn, p->due, p->share, p->temperature};
}

/* ---- maps ---- */

/* Mean over rows that see two keys of half the sum of |p - q|; q = NULL: equal weights. */
static double map_distance(const struct attention_map *m, size_t layer, size_t a, const real *q)
{
    const real *p = attention_map_weights(m, layer, a);
    double sum = 0;
    size_t rows = 0;
    for (size_t i = 0; i < m->T; i++) {
        const struct attention_interval keys = attention_map_keys(m, layer, a, i);
        const size_t n = keys.end - keys.begin;
        if (n < 2)
            continue;
        for (size_t j = keys.begin; j < keys.end; j++)
            sum += fabs((double)p[i * m->T + j] - (q ? (double)q[i * m->T + j] : 1 / (double)n)) / 2;
        rows++;
    }
    return rows ? sum / (double)rows : (double)NAN;
}

enum status head_probe_maps(struct head_probe *p, const struct gpt *g, const uint32_t *tokens, size_t T,
                            struct team team, struct error *err)
{
    assert(T > 1 && T <= HEAD_PROBE_LENGTH);
    struct attention_map m;
    const enum status s = attention_map_make(&m, g, tokens, T, team, err);
    if (s)
        return s;
    for (size_t i = 0; i < p->L * p->H; i++) {
        const size_t layer = i / p->H, h = i % p->H;
        p->from_uniform[i] = map_distance(&m, layer, h, NULL);
        for (size_t b = 0; b < p->H; b++)
            p->distance[i * p->H + b] = map_distance(&m, layer, h, attention_map_weights(&m, layer, b));
    }
    attention_map_free(&m);
    return STATUS_OK;
}
