#include "diag/leak_locate.h"

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
enum { COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

static const real *values_of(const struct block_acts *a, size_t operation)
{
    const real *const all[COUNT] = {a->ln1, a->qkv, a->att, a->mid, a->ln2, a->fc, a->gelu, a->out};
    return all[operation];
}

/* One block on its own: T rows of one batch row, a position j changed at a time. */
struct trial {
    const struct gpt *g;
    struct work *w;
    const struct gpt_pass *pass;
    size_t layer, T;
    real *x, *changed; /* (T,C) */
    real *before;      /* (T, all operations' widths) */
    bool *sees;        /* (T,T): does row i of the watched columns change with input j */
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
    const struct block_pass p = {t->g, t->layer, 1, t->T, t->pass, NULL};
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
    team_run(t->w->threads, block_lane, &c);
}

static enum leak_pattern pattern_of(const bool *sees, size_t T)
{
    bool next_only = true, all = true;
    for (size_t i = 0; i < T; i++)
        for (size_t j = i + 1; j < T; j++) {
            all &= sees[i * T + j];
            next_only &= sees[i * T + j] == (j == i + 1);
        }
    return next_only ? LEAK_NEXT_ONLY : all ? LEAK_ALL_FUTURE : LEAK_SOME;
}

static void add_place(struct leak_report *r, const struct trial *t, size_t head, const char *operation, bool backward)
{
    if (r->places < LEAK_PLACES)
        r->place[r->places] = (struct leak_place){t->layer, head, operation, backward, pattern_of(t->sees, t->T)};
    r->places++;
}

/* Does anything before row j differ in columns [begin, begin + n) of an operation? Fills column j of sees. */
static bool differs(const struct trial *t, const real *old, const real *new, size_t width, size_t begin, size_t n,
                    size_t j)
{
    bool any = false;
    for (size_t i = 0; i < t->T; i++) {
        bool row = false;
        for (size_t c = begin; c < begin + n; c++)
            row |= old[i * width + c] != new[i * width + c];
        t->sees[i * t->T + j] = row;
        any |= row && i < j;
    }
    return any;
}

/* Watches one slice of one operation while each position in turn changes. */
static bool slice_leaks(const struct trial *t, size_t operation, size_t begin, size_t n)
{
    const size_t C = t->g->config.n_embd, width = OPERATIONS[operation].wide * C;
    const struct block_acts *a = &t->w->block[t->layer];
    bool leaks = false;
    run_block(t, t->x, false);
    memcpy(t->before, values_of(a, operation), t->T * width * sizeof(real));
    for (size_t j = 1; j < t->T; j++) {
        memcpy(t->changed, t->x, t->T * C * sizeof(real));
        for (size_t c = 0; c < C; c++)
            t->changed[j * C + c] = t->x[(j - 1) * C + c] + (real)(c % 3) - 1;
        run_block(t, t->changed, false);
        leaks |= differs(t, t->before, values_of(a, operation), width, begin, n, j);
    }
    return leaks;
}

static bool forward_leaks(struct leak_report *r, const struct trial *t)
{
    const struct config *c = &t->g->config;
    for (size_t o = 0; o < COUNT; o++) {
        if (!slice_leaks(t, o, 0, OPERATIONS[o].wide * c->n_embd))
            continue;
        if (!OPERATIONS[o].per_head) {
            add_place(r, t, LEAK_NO_HEAD, OPERATIONS[o].name, false);
            return true;
        }
        for (size_t h = 0; h < c->n_head; h++)
            if (slice_leaks(t, o, h * c->head_size, c->head_size))
                add_place(r, t, h, OPERATIONS[o].name, false);
        return true;
    }
    return false;
}

/* Sends a gradient back from each row i: key and value gradients of a head at j > i, then the block's input. */
static void backward_leaks(struct leak_report *r, const struct trial *t)
{
    const struct config *c = &t->g->config;
    const size_t C = c->n_embd, hs = c->head_size, T = t->T;
    bool any_head = false;
    run_block(t, t->x, false);
    for (size_t h = 0; h <= c->n_head; h++) {
        const bool whole = h == c->n_head; /* last: what no head explains */
        if (whole && any_head)
            return;
        bool leaks = false;
        for (size_t i = 0; i < T; i++) {
            memset(t->w->dres, 0, T * C * sizeof(real));
            memcpy(t->w->dres + i * C, t->x + i * C, C * sizeof(real));
            run_block(t, t->x, true);
            for (size_t j = 0; j < T; j++) {
                bool row = false;
                for (size_t k = 0; k < (whole ? C : hs); k++)
                    row |= whole ? t->w->dres[j * C + k] != 0
                                 : t->w->dqkv[j * 3 * C + C + h * hs + k] != 0 ||
                                       t->w->dqkv[j * 3 * C + 2 * C + h * hs + k] != 0;
                t->sees[i * T + j] = row;
                leaks |= row && j > i;
            }
        }
        if (leaks)
            add_place(r, t, whole ? LEAK_NO_HEAD : h, whole ? "block" : "attention", true);
        any_head |= leaks;
    }
}

enum status leak_locate(struct leak_report *r, const struct gpt *g, struct work *w, uint64_t seed, uint32_t step,
                        struct error *err)
{
    const size_t C = g->config.n_embd, T = w->T < LEAK_LOCATE_LONGEST ? w->T : LEAK_LOCATE_LONGEST;
    struct trial t = {.g = g, .w = w, .T = T};
    t.x = malloc(T * C * sizeof(real));
    t.changed = malloc(T * C * sizeof(real));
    t.before = malloc(4 * T * C * sizeof(real));
    t.sees = calloc(T * T, sizeof *t.sees);
    enum status s = STATUS_OK;
    if (!t.x || !t.changed || !t.before || !t.sees) {
        s = fail(err, STATUS_MEMORY, "leak check: memory to locate the leak was refused");
    } else {
        const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .step = step, .head = 3};
        for (size_t k = 0; k < T * C; k++)
            t.x[k] = (real)rng_normal(&site, (uint32_t)k);
        const struct gpt_pass training = {.training = true, .seed = seed, .step = step};
        const struct gpt_pass *const passes[] = {&gpt_evaluating, &training};
        for (size_t i = 0; i < 2 && r->places == 0; i++)
            for (t.pass = passes[i], t.layer = 0; t.layer < g->config.n_layer; t.layer++)
                if (!forward_leaks(r, &t))
                    backward_leaks(r, &t);
    }
    free(t.x);
    free(t.changed);
    free(t.before);
    free(t.sees);
    return s;
}
