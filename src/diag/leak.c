#include "diag/leak.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "diag/leak_locate.h"
#include "diag/scores.h"

#define FULL_PLACES 32 /* positions that a full check tries, and a few more */
#define QUICK_ROWS 4

/* Memory of one check. */
struct check {
    const struct gpt *g;
    struct work *w;
    size_t B, T, V;
    uint32_t *tokens, *changed; /* (B,T) */
    real *before;               /* (B,T,V) */
    struct rng_site site;
    bool quick;
};

/* The place, in 1 .. T-1, that batch row `row` of round `round` tries: 1 and T - 1 first, then spread evenly, or where
 * a quick look is all there is, at random. */
static size_t place_of(const struct check *c, size_t round, size_t row, size_t rounds)
{
    const size_t k = round * c->B + row, tries = rounds * c->B, T = c->T;
    if (k == 0 || T == 2)
        return 1;
    if (k == 1)
        return T - 1;
    if (T == 3)
        return 1 + k % 2;
    const size_t others = T - 3; /* 2 .. T-2 */
    if (tries - 2 >= others)
        return 2 + (k - 2) % others;
    struct rng_site site = c->site;
    site.head = 11;
    return 2 + (c->quick ? (size_t)rng_below(&site, (uint32_t)k, others) : (k - 2) * others / (tries - 2));
}

static enum status not_finite(const char *what, struct error *err)
{
    return fail(err, STATUS_NONFINITE,
                "leak check: %s are not finite, so nothing can be said about leaks: look for NaN in the weights, or "
                "lower the learning rate",
                what);
}

static void random_tokens(const struct check *c, uint32_t round)
{
    struct rng_site site = c->site;
    site.row = round;
    /* Every other round has two symbols only: what depends on repetitions shows there. */
    const size_t V = round % 2 == 1 && c->V > 2 ? 2 : c->V;
    for (size_t i = 0; i < c->B * c->T; i++)
        c->tokens[i] = (uint32_t)rng_below(&site, (uint32_t)i, V);
}

/* Every token from t on becomes another one. */
static void change_suffix(const struct check *c, uint32_t round, size_t row, size_t t)
{
    struct rng_site site = c->site;
    site.row = round;
    site.head = 1;
    for (size_t k = row * c->T; k < (row + 1) * c->T; k++)
        c->changed[k] = k - row * c->T < t
                            ? c->tokens[k]
                            : (uint32_t)((c->tokens[k] + 1 + rng_below(&site, (uint32_t)k, c->V - 1)) % c->V);
}

/* Row b alone is changed from t on: does it still see that? */
static bool own_row_leaks(const struct check *c, const struct gpt_pass *pass, size_t b, size_t t)
{
    for (size_t k = 0; k < c->B * c->T; k++)
        if (k / c->T != b)
            c->changed[k] = c->tokens[k];
    gpt_forward(c->g, c->w, c->changed, c->B, c->T, pass);
    for (size_t i = b * c->T * c->V; i < (b * c->T + t) * c->V; i++)
        if (c->before[i] != c->w->logits[i])
            return true;
    return false;
}

static enum status suffix_round(struct leak_report *r, const struct check *c, size_t round, size_t rounds,
                                const struct gpt_pass *pass, bool watch_logging, struct error *err)
{
    random_tokens(c, (uint32_t)round);
    gpt_forward(c->g, c->w, c->tokens, c->B, c->T, pass);
    memcpy(c->before, c->w->logits, c->B * c->T * c->V * sizeof *c->before);
    if (watch_logging) {
        struct gpt_pass quiet = *pass;
        quiet.quiet = !pass->quiet;
        gpt_forward(c->g, c->w, c->tokens, c->B, c->T, &quiet);
        for (size_t i = 0; i < c->B * c->T * c->V; i++)
            r->logging_leaks |= c->before[i] != c->w->logits[i];
    }
    for (size_t b = 0; b < c->B; b++)
        change_suffix(c, (uint32_t)round, b, place_of(c, round, b, rounds));
    gpt_forward(c->g, c->w, c->changed, c->B, c->T, pass);
    size_t row = c->B, at = 0; /* of a leak */
    for (size_t b = 0; b < c->B; b++) {
        const size_t t = place_of(c, round, b, rounds);
        const real *x = c->before + b * c->T * c->V, *y = c->w->logits + b * c->T * c->V;
        for (size_t i = 0; i < c->T * c->V; i++) {
            if (!isfinite(x[i]) || !isfinite(y[i]))
                return not_finite("logits", err);
            if (i < t * c->V && x[i] != y[i]) { /* values are compared: -0 equals 0 */
                const double change = fabs((double)x[i] - (double)y[i]);
                r->suffix_leaks = true;
                row = b;
                at = t;
                if (change >= r->suffix_change) {
                    r->suffix_change = change;
                    r->suffix_position = t;
                }
            }
        }
        r->positions++;
    }
    r->own_row |= row < c->B && own_row_leaks(c, pass, row, at);
    return STATUS_OK;
}

static enum status gradient_round(struct leak_report *r, const struct check *c, size_t round, size_t rounds,
                                  const struct gpt_pass *pass, struct error *err)
{
    const size_t C = c->g->config.n_embd;
    random_tokens(c, (uint32_t)round);
    gpt_forward(c->g, c->w, c->tokens, c->B, c->T, pass);
    memset(c->w->logits, 0, c->B * c->T * c->V * sizeof(real));
    struct rng_site site = c->site;
    site.row = (uint32_t)round;
    site.head = 2;
    for (size_t b = 0; b < c->B; b++) {
        const size_t i = place_of(c, round, b, rounds) - 1;
        real *row = c->w->logits + (b * c->T + i) * c->V;
        for (size_t v = 0; v < c->V; v++)
            row[v] = (real)rng_normal(&site, (uint32_t)(b * c->V + v));
    }
    gpt_backward(c->g, c->w, c->tokens, c->B, c->T, pass, NULL);
    for (size_t b = 0; b < c->B; b++) {
        const size_t i = place_of(c, round, b, rounds) - 1;
        for (size_t k = b * c->T * C; k < (b + 1) * c->T * C; k++) {
            const double d = fabs((double)c->w->dres[k]);
            if (!isfinite(d))
                return not_finite("gradients", err);
            if (k >= (b * c->T + i + 1) * C && d > 0) {
                r->gradient_leaks = true;
                r->gradient_size = d > r->gradient_size ? d : r->gradient_size;
            }
        }
        r->gradients++;
    }
    return STATUS_OK;
}

static enum status run(struct leak_report *r, const struct check *c, enum leak_effort effort, uint64_t seed,
                       uint32_t step, struct error *err)
{
    if (c->T < 2)
        return STATUS_OK;
    const size_t all = c->T - 1, places = effort == LEAK_FULL && all > FULL_PLACES ? FULL_PLACES : all;
    const size_t wanted = (places + c->B - 1) / c->B, least = c->B == 1 && c->T > 2 ? 2 : 1;
    /* Short windows are cheap, and one of them may be such that a mistake does not show. */
    const size_t tries = c->T < 32 ? 32 : 0, enough = (tries + c->B - 1) / c->B;
    size_t rounds = c->quick ? 1 : wanted > enough ? wanted : enough;
    if (rounds < least)
        rounds = least;
    /* Evaluation, and as in training: with dropout's masks of several steps, for later rows of a step too. A quick look
     * takes one pair in one of them and one gradient as in training. */
    for (int mode = 0; mode < 2; mode++)
        for (size_t round = 0; round < rounds; round++) {
            const struct gpt_pass training = {.training = true,
                                              .seed = seed,
                                              .step = step + (uint32_t)round,
                                              .first_row = (uint32_t)(round % 3 * c->B)};
            const struct gpt_pass *pass = mode ? &training : &gpt_evaluating;
            /* Before training starts without dropout one round as in training will do, and gradients of evaluation
             * none: the two differ by a mistake only. */
            const bool same = effort == LEAK_FULL && c->g->config.dropout == 0;
            enum status s = STATUS_OK;
            const double start = clock_seconds();
            if (c->V > 1 && !(c->quick && mode != (int)(step % 2)) && !(same && mode == 1 && round > 0))
                s = suffix_round(r, c, round, rounds, pass, effort == LEAK_EVERY || (!c->quick && round == 0), err);
            const double between = clock_seconds();
            if (!s && !((c->quick || same) && mode == 0))
                s = gradient_round(r, c, round, rounds, pass, err);
            r->suffix_seconds += between - start;
            r->gradient_seconds += clock_seconds() - between;
            if (s)
                return s;
        }
    r->leak = r->suffix_leaks || r->gradient_leaks || r->logging_leaks;
    return STATUS_OK;
}

/* Where scores are large most weights are exactly 0, and a head is seen to look at a few later positions of those that
 * its mask lets through. What it could see shows in a copy of the model whose scores are small. */
static enum status see_whole_shapes(struct leak_report *r, const struct gpt *g, struct work *w, const uint32_t *tokens,
                                    uint64_t seed, uint32_t step, struct error *err)
{
    const size_t listed = r->places < LEAK_PLACES ? r->places : LEAK_PLACES;
    bool partial = r->places == 0; /* ... or is not seen to look at any */
    for (size_t k = 0; k < listed; k++)
        partial |= r->place[k].head != LEAK_NO_HEAD && r->place[k].shape.pattern == CHART_SOME;
    if (!partial)
        return STATUS_OK;
    const struct scores scores = scores_measure(g, w, tokens);
    struct gpt soft;
    enum status s = scores_scaled(&soft, g, sqrt(1 / fmax(1, scores_size(&scores))), err);
    if (s)
        return s;
    struct leak_report *r_soft = calloc(1, sizeof *r_soft);
    if (r_soft) {
        r_soft->leak = true;
        s = leak_locate(r_soft, &soft, w, seed, step, err);
    }
    for (size_t k = 0; r_soft && !s && k < listed; k++)
        for (size_t n = 0; n < r_soft->places && n < LEAK_PLACES; n++) {
            struct leak_place *to = &r->place[k];
            const struct leak_place *from = &r_soft->place[n];
            if (to->shape.pattern == CHART_SOME && to->layer == from->layer && to->head == from->head &&
                to->backward == from->backward)
                to->shape = from->shape;
        }
    if (r_soft && !s && r->places == 0) {
        memcpy(r->place, r_soft->place, sizeof r->place);
        r->places = r_soft->places;
    }
    free(r_soft);
    scores_free(&soft);
    return s;
}

enum status leak_check(struct leak_report *r, const struct gpt *g, struct work *w, enum leak_effort effort,
                       uint64_t seed, uint32_t step, struct error *err)
{
    assert(w->training);
    *r = (struct leak_report){0};
    struct check c = {
        .g = g,
        .w = w,
        .B = effort == LEAK_QUICK && w->B > QUICK_ROWS ? QUICK_ROWS : w->B,
        .quick = effort == LEAK_QUICK,
        .T = w->T,
        .V = g->config.vocab_size,
        .site = {.seed = seed, .purpose = RNG_CHECK, .step = step},
    };
    c.tokens = calloc(w->B * c.T, sizeof *c.tokens); /* a whole batch, for scores_measure */
    c.changed = calloc(c.B * c.T, sizeof *c.changed);
    c.before = malloc(c.B * c.T * c.V * sizeof *c.before);
    enum status s;
    if (!c.tokens || !c.changed || !c.before)
        s = fail(err, STATUS_MEMORY,
                 "leak check: memory for a second set of logits was refused: choose a smaller batch");
    else
        s = run(r, &c, effort, seed, step, err);
    const double start = clock_seconds();
    if (!s && r->leak)
        s = leak_locate(r, g, w, seed, step, err);
    if (!s && r->leak)
        s = see_whole_shapes(r, g, w, c.tokens, seed, step, err);
    r->locate_seconds = clock_seconds() - start;
    free(c.tokens);
    free(c.changed);
    free(c.before);
    return s;
}

/* Appends, never past the end. */
__attribute__((format(printf, 3, 4))) static void append(char *out, size_t size, const char *format, ...)
{
    const size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    if (used + 1 < size)
        vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

static bool same_kind(const struct leak_place *a, const struct leak_place *b)
{
    return a->backward == b->backward && a->shape.pattern == b->shape.pattern && a->shape.number == b->shape.number &&
           strcmp(a->operation, b->operation) == 0;
}

/* Where the heads that see alike end, of those that follow `first` in its layer. */
static size_t end_of_heads(const struct leak_report *r, size_t first, size_t listed)
{
    const struct leak_place *p = &r->place[first];
    size_t end = first + 1;
    while (end < listed && p->head != LEAK_NO_HEAD && same_kind(p, &r->place[end]) && r->place[end].layer == p->layer &&
           r->place[end].head == r->place[end - 1].head + 1)
        end++;
    return end;
}

/* Whether the n places before `at` come again there, one layer on. */
static bool comes_again(const struct leak_report *r, size_t at, size_t n, size_t listed)
{
    for (size_t k = at; k < at + n; k++)
        if (k >= listed || r->place[k].layer == LEAK_NO_LAYER || r->place[k].layer != r->place[k - n].layer + 1 ||
            r->place[k].head != r->place[k - n].head || !same_kind(&r->place[k], &r->place[k - n]))
            return false;
    return true;
}

/* "layers 0-2", "layer 1 head 3", ... */
static void name_range(char *out, size_t size, const char *name, size_t first, size_t last)
{
    if (first == last)
        append(out, size, "%s %zu", name, first);
    else
        append(out, size, "%ss %zu-%zu", name, first, last);
}

/* "layers 0-3 heads 0-3: attention sees all later positions", places of one kind in a run. */
static size_t describe_run(char *out, size_t size, const struct leak_report *r, size_t first, size_t listed)
{
    const struct leak_place *p = &r->place[first];
    const size_t heads = end_of_heads(r, first, listed) - first;
    size_t end = first + heads;
    while (comes_again(r, end, heads, listed))
        end += heads;
    char seen[CHART_WORDS_SIZE];
    chart_words(seen, &p->shape);
    append(out, size, "%s", first ? "; " : "");
    if (p->layer != LEAK_NO_LAYER)
        name_range(out, size, "layer", p->layer, r->place[end - 1].layer);
    if (p->head != LEAK_NO_HEAD) {
        append(out, size, " ");
        name_range(out, size, "head", p->head, r->place[end - 1].head);
    }
    append(out, size, "%s%s%s sees %s", p->layer == LEAK_NO_LAYER ? "" : ": ", p->operation,
           p->backward ? " (backward pass only)" : "", seen);
    return end;
}

void leak_describe(char *out, size_t size, const struct leak_report *r)
{
    assert(size > 0);
    out[0] = '\0';
    if (!r->leak && r->positions == 0) {
        append(out, size, "no leak (a context or a vocabulary of one symbol leaves nothing to change%s)",
               r->gradients ? "; gradients to later positions exactly 0" : "");
        return;
    }
    if (!r->leak) {
        append(out, size,
               "no leak (%zu suffixes changed, every earlier logit the same bits; gradients to later "
               "positions exactly 0)",
               r->positions);
        return;
    }
    append(out, size, "leak: ");
    const size_t listed = r->places < LEAK_PLACES ? r->places : LEAK_PLACES;
    if (!r->places)
        append(out, size,
               r->suffix_leaks && !r->own_row ? "other rows of the batch are seen" : "in no operation alone");
    for (size_t i = 0; i < listed;)
        i = describe_run(out, size, r, i, listed);
    if (r->places > listed)
        append(out, size, "; %zu more places", r->places - listed);
    if (r->suffix_leaks)
        append(out, size, "; changing tokens from position %zu on changes earlier logits by up to %.3g",
               r->suffix_position, r->suffix_change);
    if (r->logging_leaks)
        append(out, size, "; logging attention changes the logits");
    if (r->gradient_leaks)
        append(out, size, "; gradients to later positions reach %.3g", r->gradient_size);
}
