#include "text/grammar_entropy.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A distribution over states. */
struct outcome {
    uint64_t state;
    double p;
};

struct distribution {
    struct outcome *outcome;
    size_t count, capacity;
};

/* A rule's answer depends on the groups that it touches alone, so it is worked out once for each state of those. */
struct answer {
    size_t rule; /* n_rules marks a free place */
    uint64_t state;
    double nats, characters;
    struct distribution after; /* over the touched groups */
};

struct table {
    const struct grammar *g;
    struct answer *place; /* open addressing, linear probing */
    size_t size, used;    /* size is a power of two */
};

static enum status add(struct distribution *d, uint64_t state, double p, struct error *err)
{
    if (d->count == d->capacity) {
        const size_t capacity = d->capacity ? 2 * d->capacity : 8;
        struct outcome *more = realloc(d->outcome, capacity * sizeof *more);
        if (!more)
            return fail(err, STATUS_MEMORY, "grammar: memory for %zu states was refused", capacity);
        d->outcome = more;
        d->capacity = capacity;
    }
    d->outcome[d->count++] = (struct outcome){state, p};
    return STATUS_OK;
}

static int by_state(const void *a, const void *b)
{
    const struct outcome *x = a, *y = b;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return (x->p > y->p) - (x->p < y->p); /* so that sums are taken in one order everywhere */
}

/* One entry a state. */
static void merge(struct distribution *d)
{
    if (d->count < 2)
        return;
    qsort(d->outcome, d->count, sizeof *d->outcome, by_state);
    size_t n = 0;
    for (size_t i = 1; i < d->count; i++)
        if (d->outcome[i].state == d->outcome[n].state)
            d->outcome[n].p += d->outcome[i].p;
        else
            d->outcome[++n] = d->outcome[i];
    d->count = n + 1;
}

static struct answer *look(const struct table *t, size_t rule, uint64_t state)
{
    assert(t->place);
    const uint64_t mixed = (state + rule * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xBF58476D1CE4E5B9);
    size_t i = (size_t)(mixed >> 32) & (t->size - 1);
    while (t->place[i].rule != t->g->n_rules && (t->place[i].rule != rule || t->place[i].state != state))
        i = (i + 1) & (t->size - 1);
    return &t->place[i];
}

static enum status resize(struct table *t, size_t size, struct error *err)
{
    struct table bigger = {t->g, malloc(size * sizeof *t->place), size, t->used};
    if (!bigger.place)
        return fail(err, STATUS_MEMORY, "grammar: memory for %zu states was refused", size);
    for (size_t i = 0; i < size; i++)
        bigger.place[i] = (struct answer){.rule = t->g->n_rules};
    for (size_t i = 0; i < t->size; i++)
        if (t->place[i].rule != t->g->n_rules)
            *look(&bigger, t->place[i].rule, t->place[i].state) = t->place[i];
    free(t->place);
    *t = bigger;
    return STATUS_OK;
}

static enum status expect(struct table *t, size_t rule, uint64_t state, struct answer *answer, struct error *err);

/* Sends every state of `from` through one symbol, and counts what that adds to the answer, weighed by p. */
static enum status advance(struct table *t, uint16_t symbol, const struct distribution *from, struct distribution *to,
                           double p, struct answer *sum, struct error *err)
{
    const size_t rule = (size_t)symbol - GRAMMAR_RULE;
    const uint64_t touches = t->g->rule[rule].touches;
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        const struct outcome *o = &from->outcome[i];
        struct answer below;
        enum status s = expect(t, rule, o->state, &below, err);
        if (s != STATUS_OK)
            return s;
        sum->nats += p * o->p * below.nats;
        sum->characters += p * o->p * below.characters;
        for (size_t j = 0; j < below.after.count; j++) {
            const struct outcome *then = &below.after.outcome[j];
            if ((s = add(to, (o->state & ~touches) | then->state, o->p * then->p, err)) != STATUS_OK)
                return s;
        }
    }
    merge(to);
    return STATUS_OK;
}

/* One alternative, chosen with probability p. */
static enum status follow(struct table *t, size_t a, uint64_t state, double p, struct answer *sum, struct error *err)
{
    const struct grammar *g = t->g;
    const struct grammar_alternative *alt = &g->alternative[a];
    struct distribution now = {0}, next = {0};
    enum status s = add(&now, grammar_after(g, a, state), 1, err);
    for (size_t i = alt->begin; s == STATUS_OK && i < alt->end; i++) {
        if (g->symbol[i] < GRAMMAR_RULE) {
            sum->characters += p;
            continue;
        }
        s = advance(t, g->symbol[i], &now, &next, p, sum, err);
        const struct distribution swap = now;
        now = next;
        next = swap;
    }
    for (size_t i = 0; s == STATUS_OK && i < now.count; i++)
        s = add(&sum->after, now.outcome[i].state, p * now.outcome[i].p, err);
    free(now.outcome);
    free(next.outcome);
    return s;
}

static enum status expect(struct table *t, size_t rule, uint64_t state, struct answer *answer, struct error *err)
{
    const struct grammar *g = t->g;
    state &= g->rule[rule].touches;
    *answer = *look(t, rule, state);
    if (answer->rule == rule)
        return STATUS_OK;
    *answer = (struct answer){.rule = rule, .state = state};
    const uint64_t total = grammar_total(g, rule, state);
    enum status s = STATUS_OK;
    if (total == 0)
        s = fail(err, STATUS_FORMAT, "grammar rule %s: no alternative applies in a state that can be reached",
                 g->rule[rule].name);
    for (size_t a = g->rule[rule].begin; s == STATUS_OK && a < g->rule[rule].end; a++) {
        if (!grammar_applies(g, a, state))
            continue;
        const double p = (double)g->alternative[a].weight / (double)total;
        answer->nats -= p * log(p);
        s = follow(t, a, state, p, answer, err);
    }
    if (s == STATUS_OK && 2 * ++t->used > t->size)
        s = resize(t, 2 * t->size, err);
    if (s != STATUS_OK) {
        free(answer->after.outcome);
        return s;
    }
    merge(&answer->after);
    *look(t, rule, state) = *answer;
    return STATUS_OK;
}

enum status grammar_entropy_expect(struct grammar_entropy *e, const struct grammar *g, struct error *err)
{
    struct table t = {.g = g};
    struct answer root;
    enum status s = resize(&t, 1024, err);
    if (s == STATUS_OK)
        s = expect(&t, 0, 0, &root, err);
    if (s == STATUS_OK)
        *e = (struct grammar_entropy){root.nats, root.characters};
    for (size_t i = 0; i < t.size; i++)
        if (t.place[i].rule != g->n_rules)
            free(t.place[i].after.outcome);
    free(t.place);
    return s;
}
