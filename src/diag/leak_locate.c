#include "diag/leak_locate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/block.h"

/* What a block computes, in order. */
static const struct operation {
    const char *name;
    size_t wide; /* row width in C */
    bool per_head;
} OPERATIONS[] = {
    {"LayerNorm 1", 1, false}, {"W_QKV", 3, false}, {"attention", 1, true}, {"W_O", 1, false},
    {"LayerNorm 2", 1, false}, {"W_fc", 4, false},  {"GELU", 4, false},     {"W_out", 1, false},
};
enum { COUNT = sizeof OPERATIONS / sizeof *OPERATIONS, ATTENTION = 2, WIDTHS = 1 + 3 + 1 + 1 + 1 + 4 + 4 + 1 };

static const real *values_of(const struct block_acts *a, size_t operation)
{
    const real *const all[COUNT] = {a->ln1, a->qkv, a->att, a->mid, a->ln2, a->fc, a->gelu, a->out};
    return all[operation];
}

/* One search. A watch is an operation or, behind those, a head; it has a chart of the positions tried. */
struct trial {
    const struct gpt *g;
    struct work *w;
    const struct gpt_pass *pass;
    size_t layer, B, T;
    uint64_t seed;
    size_t at[LEAK_LOCATE_POSITIONS], n; /* positions tried */
    real *x, *changed;                   /* (B,T,C) */
    real *before;                        /* (B T, WIDTHS * C): operations, one after another */
    uint32_t *tokens;                    /* (B,T) */
    real *whole;                         /* (B T, 3C + V): what stands around the blocks */
    unsigned char *cells;                /* (COUNT + H, n, n) */
};

struct call {
    const struct trial *trial;
    const real *x;
    bool backward;
};

static void block_lane(const struct lane *lane, void *context)
{
    const struct call *c = context;
    const struct trial *t = c->trial;
    struct block_acts *a = &t->w->block[t->layer];
    const struct block_pass p = {t->g, t->layer, t->B, t->T, t->pass, NULL, false};
    if (!c->backward) {
        block_forward(lane, c->x, a, t->w, &p);
        return;
    }
    lane_barrier(lane);
    block_backward(lane, c->x, a, t->w, NULL, &p);
}

static void run_block(const struct trial *t, const real *x, bool backward)
{
    struct call c = {t, x, backward};
    team_run(t->w->team, block_lane, &c);
}

static unsigned char *chart(const struct trial *t, size_t watch)
{
    return t->cells + watch * t->n * t->n;
}

static void clear_charts(const struct trial *t)
{
    memset(t->cells, CHART_UNTRIED, (COUNT + t->g->config.n_head) * t->n * t->n);
}

static bool leaks(const struct trial *t, size_t watch)
{
    return chart_judge_at(chart(t, watch), t->at, t->n).pattern != CHART_CAUSAL;
}

static void add_place(struct leak_report *r, size_t layer, size_t head, const char *operation, bool backward,
                      struct chart_shape shape)
{
    if (r->places < LEAK_PLACES)
        r->place[r->places] = (struct leak_place){layer, head, operation, backward, shape};
    r->places++;
}

static void add_watch(struct leak_report *r, const struct trial *t, size_t watch, const char *operation, bool backward)
{
    add_place(r, t->layer, watch < COUNT ? LEAK_NO_HEAD : watch - COUNT, operation, backward,
              chart_judge_at(chart(t, watch), t->at, t->n));
}

static void mark(const struct trial *t, size_t watch, size_t i, size_t j, bool sees)
{
    unsigned char *cell = chart(t, watch) + i * t->n + j;
    if (*cell != CHART_SEES)
        *cell = sees ? CHART_SEES : CHART_CLEAR;
}

static bool any_differs(const real *x, const real *y, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (x[k] != y[k] && !(x[k] != x[k] && y[k] != y[k])) /* values: -0 equals 0, NaN is NaN */
            return true;
    return false;
}

static bool any_nonzero(const real *x, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (x[k] != 0)
            return true;
    return false;
}

/* Columns that a watch covers of the operation's rows, which are `width` wide. */
static void columns(const struct trial *t, size_t watch, size_t *operation, size_t *width, size_t *first, size_t *count)
{
    const struct config *c = &t->g->config;
    const bool head = watch >= COUNT;
    *operation = head ? ATTENTION : watch;
    *width = OPERATIONS[*operation].wide * c->n_embd;
    *first = head ? (watch - COUNT) * c->head_size : 0;
    *count = head ? c->head_size : *width;
}

/* Keeps what all batch rows compute. */
static void remember(const struct trial *t)
{
    real *to = t->before;
    for (size_t o = 0; o < COUNT; o++) {
        const size_t n = t->B * t->T * OPERATIONS[o].wide * t->g->config.n_embd;
        memcpy(to, values_of(&t->w->block[t->layer], o), n * sizeof *to);
        to += n;
    }
}

static const real *remembered(const struct trial *t, size_t operation)
{
    const real *from = t->before;
    for (size_t o = 0; o < operation; o++)
        from += t->B * t->T * OPERATIONS[o].wide * t->g->config.n_embd;
    return from;
}

/* Position at[j] of every batch row was changed: who noticed? */
static void compare(const struct trial *t, size_t j)
{
    for (size_t watch = 0; watch < COUNT + t->g->config.n_head; watch++) {
        size_t operation, width, first, count;
        columns(t, watch, &operation, &width, &first, &count);
        const real *old = remembered(t, operation), *new = values_of(&t->w->block[t->layer], operation);
        for (size_t b = 0; b < t->B; b++)
            for (size_t i = 0; i < t->n; i++) {
                const size_t row = (b * t->T + t->at[i]) * width + first;
                mark(t, watch, i, j, any_differs(old + row, new + row, count));
            }
    }
}

/* The first operation at fault, head by head if it has heads. */
static bool blame_first(struct leak_report *r, const struct trial *t)
{
    for (size_t o = 0; o < COUNT; o++) {
        if (!leaks(t, o))
            continue;
        if (!OPERATIONS[o].per_head)
            add_watch(r, t, o, OPERATIONS[o].name, false);
        for (size_t h = 0; OPERATIONS[o].per_head && h < t->g->config.n_head; h++)
            if (leaks(t, COUNT + h))
                add_watch(r, t, COUNT + h, OPERATIONS[o].name, false);
        return true;
    }
    return false;
}

/* A change of one row: by the like of what it is, by a little, beyond all bounds. */
static const double SIZES[] = {1, 1e-3, 1e6};

static bool forward_leaks(struct leak_report *r, const struct trial *t)
{
    const size_t C = t->g->config.n_embd;
    clear_charts(t);
    run_block(t, t->x, false);
    remember(t);
    for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; size++) {
        for (size_t j = 1; j < t->n; j++) {
            memcpy(t->changed, t->x, t->B * t->T * C * sizeof(real));
            const struct rng_site site = {
                .seed = t->seed, .purpose = RNG_CHECK, .head = 4, .row = (uint32_t)size, .layer = (uint32_t)j};
            for (size_t b = 0; b < t->B; b++)
                for (size_t c = 0; c < C; c++)
                    t->changed[(b * t->T + t->at[j]) * C + c] +=
                        (real)(SIZES[size] * rng_normal(&site, (uint32_t)(b * C + c)));
            run_block(t, t->changed, false);
            compare(t, j);
        }
        if (blame_first(r, t))
            return true;
    }
    return false;
}

/* Sends a gradient back from one row at a time. What reaches queries of later rows has leaked before it came to the
 * attention, in the half of the block with the MLP; what reaches keys or values of a head leaks there; the block's
 * input shows the rest. */
static void backward_leaks(struct leak_report *r, const struct trial *t)
{
    const struct config *c = &t->g->config;
    const size_t C = c->n_embd, hs = c->head_size, T = t->T;
    enum { QUERIES, INPUT }; /* watches that are no heads */
    clear_charts(t);
    run_block(t, t->x, false);
    for (size_t i = 0; i < t->n; i++) {
        memset(t->w->dres, 0, t->B * T * C * sizeof(real));
        for (size_t b = 0; b < t->B; b++)
            memcpy(t->w->dres + (b * T + t->at[i]) * C, t->x + (b * T + t->at[i]) * C, C * sizeof(real));
        run_block(t, t->x, true);
        for (size_t k = 0; k < t->B * t->n; k++) {
            const size_t j = k % t->n, row = k / t->n * T + t->at[j];
            const real *dq = t->w->dqkv + row * 3 * C, *dx = t->w->dres + row * C;
            mark(t, QUERIES, i, j, any_nonzero(dq, C));
            mark(t, INPUT, i, j, any_nonzero(dx, C));
            for (size_t h = 0; h < c->n_head; h++)
                mark(t, COUNT + h, i, j, any_nonzero(dq + C + h * hs, hs) || any_nonzero(dq + 2 * C + h * hs, hs));
        }
    }
    if (leaks(t, QUERIES)) {
        add_watch(r, t, QUERIES, "MLP or W_O", true);
        return;
    }
    const size_t before = r->places;
    for (size_t h = 0; h < c->n_head; h++)
        if (leaks(t, COUNT + h))
            add_watch(r, t, COUNT + h, "attention", true);
    if (r->places == before && leaks(t, INPUT))
        add_watch(r, t, INPUT, "W_QKV or LayerNorm 1", true);
}

/* Watches in whole passes what stands around the blocks; the last two are judged where the blocks let nothing through.
 */
static void trunk_leaks(struct leak_report *r, const struct trial *t)
{
    const struct config *c = &t->g->config;
    const size_t T = t->T, C = c->n_embd, V = c->vocab_size;
    enum { EMBEDDINGS, BLOCKS, NORM, HEAD, ALL };
    static const char *const names[ALL] = {"embeddings", NULL, "final LayerNorm", "output head"};
    if (V < 2)
        return;
    const real *const values[ALL] = {t->w->embedded, t->w->block[c->n_layer - 1].out, t->w->lnf, t->w->logits};
    const size_t width[ALL] = {C, C, C, V};
    uint32_t *const tokens = t->tokens;
    real *const before = t->whole;
    const struct rng_site site = {.seed = t->seed, .purpose = RNG_CHECK, .head = 5};
    const size_t B = t->B, N = B * T;
    for (size_t k = 0; k < N; k++)
        tokens[k] = (uint32_t)rng_below(&site, (uint32_t)k, V);
    clear_charts(t);
    gpt_forward(t->g, t->w, tokens, B, T, t->pass);
    for (size_t k = 0, first = 0; k < ALL; first += N * width[k], k++)
        memcpy(before + first, values[k], N * width[k] * sizeof *before);
    for (size_t j = 1; j < t->n; j++) {
        for (size_t b = 0; b < B; b++)
            tokens[b * T + t->at[j]] = (tokens[b * T + t->at[j]] + 1) % (uint32_t)V;
        gpt_forward(t->g, t->w, tokens, B, T, t->pass);
        for (size_t b = 0; b < B; b++)
            tokens[b * T + t->at[j]] = (tokens[b * T + t->at[j]] + (uint32_t)V - 1) % (uint32_t)V;
        for (size_t k = 0, first = 0; k < ALL; first += N * width[k], k++)
            for (size_t row = 0; row < B * t->n; row++) {
                const size_t i = row % t->n, at = (row / t->n * T + t->at[i]) * width[k];
                mark(t, k, i, j, any_differs(before + first + at, values[k] + at, width[k]));
            }
    }
    if (leaks(t, EMBEDDINGS))
        add_place(r, LEAK_NO_LAYER, LEAK_NO_HEAD, names[EMBEDDINGS], false,
                  chart_judge_at(chart(t, EMBEDDINGS), t->at, t->n));
    for (size_t k = NORM; k < ALL; k++)
        if (leaks(t, k) && !leaks(t, k - 1))
            add_place(r, LEAK_NO_LAYER, LEAK_NO_HEAD, names[k], false, chart_judge_at(chart(t, k), t->at, t->n));
}

static void draw_rows(const struct trial *t, uint32_t step, uint32_t draw)
{
    const struct rng_site site = {.seed = t->seed, .purpose = RNG_CHECK, .step = step, .row = draw, .head = 3};
    for (size_t k = 0; k < t->B * t->T * t->g->config.n_embd; k++)
        t->x[k] = (real)rng_normal(&site, (uint32_t)k);
}

/* Takes memory for B rows and fills x with random rows. */
static enum status begin(struct trial *t, size_t B, uint32_t step, struct error *err)
{
    const size_t C = t->g->config.n_embd;
    t->B = B;
    t->T = t->w->T;
    /* a pass over a block, matrices and attention */
    const double cost = 2.0 * (double)t->T * (double)C * (12.0 * (double)C + 2.0 * (double)t->T);
    const double affordable = LEAK_LOCATE_COST / cost;
    t->n = chart_positions(t->at,
                           affordable > LEAK_LOCATE_POSITIONS ? LEAK_LOCATE_POSITIONS
                           : affordable < LEAK_LOCATE_LEAST   ? LEAK_LOCATE_LEAST
                                                              : (size_t)affordable,
                           t->T);
    const size_t rows = B * t->T;
    t->x = malloc(rows * C * sizeof(real));
    t->changed = malloc(rows * C * sizeof(real));
    t->before = malloc(rows * WIDTHS * C * sizeof(real));
    t->tokens = malloc(rows * sizeof *t->tokens);
    t->whole = malloc(rows * (3 * C + t->g->config.vocab_size) * sizeof *t->whole);
    t->cells = malloc((COUNT + t->g->config.n_head) * t->n * t->n);
    if (!t->x || !t->changed || !t->before || !t->tokens || !t->whole || !t->cells)
        return fail(err, STATUS_MEMORY, "leak check: memory to locate the leak was refused");
    draw_rows(t, step, 0);
    return STATUS_OK;
}

static void end(struct trial *t)
{
    free(t->x);
    free(t->changed);
    free(t->before);
    free(t->tokens);
    free(t->whole);
    free(t->cells);
}

enum status leak_locate(struct leak_report *r, const struct gpt *g, struct work *w, uint64_t seed, uint32_t step,
                        struct error *err)
{
    struct trial t = {.g = g, .w = w, .seed = seed};
    const enum status s = begin(&t, w->B < 2 ? 1 : 2, step, err);
    /* Where logging changes nothing, passes without it need no search of their own. */
    const int modes = r->leak ? 4 : 2;
    /* A few rows, or one draw of dropout, may be such that a mistake does not show. */
    const uint32_t draws = t.T < 8 ? 8 : t.T < 32 ? 2 : 1;
    struct gpt_pass pass = {.seed = seed};
    t.pass = &pass;
    for (int mode = 0; !s && mode < modes && r->places == 0; mode++) {
        pass.training = mode % 2 == 1;
        pass.quiet = mode >= 2;
        for (t.layer = 0; t.layer < g->config.n_layer; t.layer++) {
            bool found = false;
            for (uint32_t draw = 0; !found && draw < draws; draw++) {
                pass.step = step + draw;
                draw_rows(&t, step, draw);
                found = forward_leaks(r, &t);
            }
            if (!found)
                backward_leaks(r, &t);
        }
        trunk_leaks(r, &t);
    }
    end(&t);
    return s;
}

/* One row of the batch is another one: does anything in the other row notice? */
static bool batch_leaks(struct leak_report *r, const struct trial *t, size_t changed)
{
    const size_t C = t->g->config.n_embd, row = t->T * C;
    run_block(t, t->x, false);
    remember(t);
    memcpy(t->changed, t->x, 2 * row * sizeof(real));
    for (size_t k = changed * row; k < (changed + 1) * row; k++)
        t->changed[k] = 1 - 2 * t->x[k];
    run_block(t, t->changed, false);
    for (size_t o = 0; o < COUNT; o++) {
        const size_t n = t->T * OPERATIONS[o].wide * C, other = (1 - changed) * n;
        if (any_differs(remembered(t, o) + other, values_of(&t->w->block[t->layer], o) + other, n)) {
            add_place(r, t->layer, LEAK_NO_HEAD, OPERATIONS[o].name, false, (struct chart_shape){0});
            return true;
        }
    }
    return false;
}

enum status leak_locate_batch(struct leak_report *r, const struct gpt *g, struct work *w, uint64_t seed, uint32_t step,
                              struct error *err)
{
    assert(w->B >= 2);
    const struct gpt_pass training = {.training = true, .seed = seed, .step = step};
    struct trial t = {.g = g, .w = w, .seed = seed};
    const enum status s = begin(&t, 2, step, err);
    for (t.layer = 0; !s && t.layer < g->config.n_layer; t.layer++) {
        bool found = false;
        for (size_t way = 0; way < 4 && !found; way++) {
            t.pass = way < 2 ? &gpt_evaluating : &training;
            found = batch_leaks(r, &t, way % 2);
        }
    }
    end(&t);
    return s;
}
