#include "support/puppet.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

double puppet_causal(size_t i, size_t j, size_t n)
{
    return (void)n, j <= i ? 1 / (double)(i + 1) : 0;
}
double puppet_blind(size_t i, size_t j, size_t n)
{
    return (void)i, (void)j, 1 / (double)n;
}
double puppet_next(size_t i, size_t j, size_t n)
{
    return (void)n, j <= i + 1 ? 1 / (double)(i + 2) : 0;
}
double puppet_block_16(size_t i, size_t j, size_t n)
{
    return (void)n, j <= i || j / 16 == i / 16 ? 1 / (double)(i + 1) : 0;
}

/* In -1 .. 1. */
static double embedding(size_t token, size_t v)
{
    const struct rng_site site = {.seed = 1, .purpose = RNG_TEST, .row = (uint32_t)token};
    return 2 * rng_uniform(&site, (uint32_t)v) - 1;
}

static void row(const struct puppet *p, double *logits, const uint32_t *tokens, size_t n, size_t i)
{
    const size_t V = p->box.V;
    for (size_t v = 0; v < V; v++)
        logits[v] = 0.01 * embedding(p->memory, v) + (p->counts_length ? embedding(n, v) : 0);
    for (size_t j = 0; j < n; j++) {
        const double w = p->weight(i, j, n);
        for (size_t v = 0; v < V && w != 0; v++)
            logits[v] += w * embedding(tokens[j], v);
    }
    if (i + 1 < n)
        logits[tokens[i + 1]] += p->knows_next;
    const struct rng_site site = {.seed = 2, .purpose = RNG_TEST, .step = (uint32_t)p->asked, .row = (uint32_t)i};
    for (size_t v = 0; v < V; v++) {
        logits[v] += p->noise * rng_uniform(&site, (uint32_t)v);
        if (p->step > 0)
            logits[v] = p->step * rint(logits[v] / p->step + 1e-3 * (double)n);
    }
    if (p->poison != 0 && i == 1)
        logits[2] = p->poison;
    if (p->bars_last)
        logits[V - 1] = -INFINITY;
}

static enum status ask(void *self, double *logits, const uint32_t *tokens, size_t n, const size_t *rows, size_t n_rows,
                       struct error *err)
{
    struct puppet *p = self;
    const size_t count = rows ? n_rows : n;
    cr_assert(n >= 1 && n <= p->box.T && count >= 1);
    for (size_t i = 0; i < n; i++)
        cr_assert_lt(tokens[i], p->box.V);
    p->asked++;
    p->most_numbers = p->most_numbers > count * p->box.V ? p->most_numbers : count * p->box.V;
    if (n < p->refuses_below)
        return fail(err, STATUS_FORMAT, "too short");
    for (size_t k = 0; k < count; k++) {
        cr_assert(!rows || (rows[k] < n && (k == 0 || rows[k] > rows[k - 1])), "rows ascend below n");
        const size_t at = rows ? rows[k] + (p->confuses_rows && rows[k] + 1 < n) : k;
        row(p, logits + k * p->box.V, tokens, n, at);
    }
    if (p->remembers)
        p->memory = tokens[n - 1] + 1;
    return STATUS_OK;
}

void puppet_make(struct puppet *p, size_t V, size_t T, puppet_weight *weight)
{
    struct error err;
    *p = (struct puppet){.weight = weight};
    cr_assert_eq(blackbox_open(&p->box, V, T, &err), STATUS_OK, "%s", err.message);
    p->box.ask = ask;
    p->box.self = p;
}

void puppet_free(struct puppet *p)
{
    blackbox_close(&p->box);
}

void puppet_open(struct session *s, struct puppet *p)
{
    struct error err;
    *s = (struct session){.b = &p->box, .v = calloc(1, sizeof *s->v), .seed = 5, .seconds = 10};
    cr_assert(s->v);
    cr_assert_eq(session_open(s, &err), STATUS_OK, "%s", err.message);
    session_random(s, s->tokens, 1);
    cr_assert_eq(blackbox_ask(s->b, s->before, s->tokens, 1, NULL, 1, &err), STATUS_OK, "%s", err.message);
    session_begin(s, 1);
}

void puppet_close(struct session *s)
{
    free(s->v);
    session_close(s);
}
