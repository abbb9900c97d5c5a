#include "diag/blackbox_loss.h"

#include <assert.h>
#include <math.h>

#include "base/rng.h"

#define STANDARD_ERRORS 4.0
#define PREDICTIONS ((size_t)4096)
#define QUICK_PREDICTIONS ((size_t)512)
#define LEAST_PREDICTIONS ((size_t)64)
#define WINDOWS ((size_t)64)
#define PREFIXES ((size_t)256)
#define QUICK_PREFIXES ((size_t)24)

/* A sample of losses, or of differences: its mean, and how sure that is. */
struct sample {
    size_t n;
    double sum, squares;
};

static void sample_add(struct sample *a, double x)
{
    a->n++;
    a->sum += x;
    a->squares += x * x;
}

static double sample_mean(const struct sample *a)
{
    return a->sum / (double)a->n;
}

static double sample_error(const struct sample *a)
{
    if (a->n < 2)
        return INFINITY;
    const double n = (double)a->n, mean = a->sum / n;
    return sqrt(fmax(0, a->squares / n - mean * mean) / (n - 1));
}

/* Nats by which rounding at another length usually moves an answer, and by which it never does: in the design of fp32
 * 1e-5 of the largest logit; matrix units that cut fp32 to 10 bits and a dozen layers of bfloat16 need the wide one. */
static double usual_rounding(const struct session *s)
{
    return fmax(fmax(1e-5, 4 * blackbox_epsilon(s->b)) * fmax(1, s->b->largest), session_tolerance(s));
}

static double worst_rounding(const struct session *s)
{
    return fmax(fmax(0.02, 32 * blackbox_epsilon(s->b)) * fmax(1, s->b->largest), session_tolerance(s));
}

enum status blackbox_rows(struct session *s, struct error *err)
{
    const size_t V = s->b->V, n = s->b->T < s->rows_max ? s->b->T : s->rows_max;
    session_random(s, s->tokens, n);
    enum status status = blackbox_ask(s->b, s->before, s->tokens, n, NULL, n, err);
    s->rows[0] = 0;
    s->rows[1] = n / 2;
    s->rows[2] = n - 1;
    /* one less than all, or the question would be the same */
    const size_t sorted = session_sort_rows(s, 3 < n ? 3 : 1);
    if (status == STATUS_OK)
        status = blackbox_ask(s->b, s->after, s->tokens, n, s->rows, sorted, err);
    if (status != STATUS_OK)
        return status;
    double change = 0;
    for (size_t k = 0; k < sorted; k++)
        change = fmax(change, session_difference(s, s->before + s->rows[k] * V, s->after + k * V));
    if (change > worst_rounding(s))
        return fail(err, STATUS_FORMAT,
                    "asked for rows only, the program answers otherwise than for the whole window, by up to %.2g nats: "
                    "\"rows\" counts the positions of \"tokens\" from 0",
                    change);
    verdict_say(s->v, "rows", VERDICT_CLEAN, session_spent(s), "some rows of an answer are those of the whole answer%s",
                change > 0 ? ", but for rounding" : "");
    return STATUS_OK;
}

/* What became of comparing windows with their beginnings. */
struct generation {
    struct sample parallel, alone, worth; /* losses, and alone - parallel */
    double change;                        /* the largest of a log-probability */
};

/* A window of random tokens; parallel losses at the places[0 .. n-1], then each with its future cut off. */
static enum status generate(struct generation *g, struct session *s, const size_t *places, size_t n, struct error *err)
{
    const size_t T = s->b->T, V = s->b->V;
    session_random(s, s->tokens, T);
    for (size_t k = 0; k < n; k++)
        s->rows[k] = places[k];
    if (!s->whole) /* else the places that matter most come first, in case time runs out */
        n = session_sort_rows(s, n);
    enum status status = blackbox_ask(s->b, s->before, s->tokens, T, s->whole ? NULL : s->rows, n, err);
    for (size_t k = 0; k < n && status == STATUS_OK; k++) {
        if (session_enough(s, g->worth.n, 4, 2))
            break;
        const size_t t = s->rows[k];
        session_show(s, "generation", k, n);
        status = blackbox_ask(s->b, s->after, s->tokens, t + 1, &t, 1, err);
        if (status != STATUS_OK)
            break;
        const double *const with = s->before + (s->whole ? t : k) * V;
        const uint32_t next = s->tokens[t + 1];
        sample_add(&g->parallel, -with[next]);
        sample_add(&g->alone, -s->after[next]);
        sample_add(&g->worth, with[next] - s->after[next]);
        g->change = fmax(g->change, session_difference(s, with, s->after));
    }
    return status;
}

static void say_generation(const struct generation *g, const struct session *s, const struct chart_shape *shape)
{
    const double worth = sample_mean(&g->worth), unsure = sample_error(&g->worth), spent = session_spent(s);
    const bool counts = fabs(worth) > STANDARD_ERRORS * unsure && worth > BLACKBOX_WORTHLESS;
    const bool leaks = s->v->findings > 0, length = !leaks && g->change > worst_rounding(s);
    s->v->nats = worth;
    if (leaks && counts) {
        verdict_say(s->v, "generation", VERDICT_FOUND, spent,
                    "loss %.4f with the future in the window, %.4f without (%zu random tokens)",
                    sample_mean(&g->parallel), sample_mean(&g->alone), g->worth.n);
        struct verdict_finding *const f = verdict_find(
            s->v, "generation", "the future is worth %.4f nats a symbol to this model, on random tokens", worth);
        f->shape = *shape;
        f->nats = worth;
        for (size_t k = 0; k < s->v->findings && k < VERDICT_FINDINGS; k++)
            s->v->finding[k].nats = worth;
    } else if (leaks) {
        verdict_say(
            s->v, "generation", VERDICT_NOTED, spent,
            "the future in the window is worth %.4f nats (give or take %.4f): this model makes no use of it yet", worth,
            unsure);
    } else if (length) {
        verdict_say(s->v, "generation", VERDICT_FOUND, spent,
                    "with its future cut off, an answer moves by up to %.2g nats (%zu tried)", g->change, g->worth.n);
        verdict_find(
            s->v, "generation",
            "an answer depends on how many tokens follow, though not on which (by up to %.2g nats): positions or a "
            "statistic are counted from the window's end or over its length",
            g->change)
            ->nats = worth;
    } else if (g->change > usual_rounding(s)) {
        verdict_say(
            s->v, "generation", VERDICT_NOTED, spent,
            "with its future cut off, an answer moves by up to %.1g nats: low precision, or a slight dependence "
            "on the window's length (%zu tried)",
            g->change, g->worth.n);
    } else {
        verdict_say(s->v, "generation", VERDICT_CLEAN, spent,
                    "loss %.4f with the future in the window, %.4f without: equal but for rounding (%zu tried)",
                    sample_mean(&g->parallel), sample_mean(&g->alone), g->worth.n);
    }
}

enum status blackbox_generation(struct session *s, const struct chart_shape *shape, struct error *err)
{
    assert(s->b->T >= 2);
    struct generation g = {.change = 0};
    if (s->b->one_length) {
        verdict_say(s->v, "generation", VERDICT_SKIPPED, 0,
                    "the program says that its answers to different lengths cannot be compared (dropout is on)");
        return STATUS_OK;
    }
    const size_t places = session_spread(s, 0, s->b->T - 2), wanted = s->quick ? QUICK_PREFIXES : PREFIXES;
    const size_t most = wanted < 4 * places ? wanted : 4 * places;
    const size_t group = s->whole ? places : s->rows_max;
    enum status status = STATUS_OK;
    size_t begin = 0;
    while (status == STATUS_OK && g.worth.n < most && !session_enough(s, g.worth.n, 4, 2)) {
        const size_t left = places - begin, room = most - g.worth.n;
        size_t n = group < left ? group : left;
        n = n < room ? n : room;
        status = generate(&g, s, s->places + begin, n, err);
        begin = begin + n < places ? begin + n : 0;
    }
    if (status == STATUS_OK)
        say_generation(&g, s, shape);
    return status;
}

enum status blackbox_uniform(struct session *s, struct error *err)
{
    const size_t T = s->b->T, V = s->b->V, most = s->quick ? QUICK_PREDICTIONS : PREDICTIONS;
    struct sample loss = {0};
    for (size_t k = 0; k < WINDOWS && loss.n < most && !session_enough(s, loss.n, LEAST_PREDICTIONS, 0); k++) {
        session_show(s, "uniform", loss.n, most);
        session_random(s, s->tokens, T);
        size_t n = T - 1;
        if (!s->whole) {
            const struct rng_site site = {.seed = s->seed, .purpose = RNG_CHECK, .step = s->draws++, .head = 1};
            for (size_t r = 0; r < s->rows_max; r++)
                s->rows[r] = rng_below(&site, (uint32_t)r, T - 1);
            n = session_sort_rows(s, s->rows_max);
        }
        const enum status status = blackbox_ask(s->b, s->before, s->tokens, T, s->whole ? NULL : s->rows, n, err);
        if (status != STATUS_OK)
            return status;
        for (size_t r = 0; r < n; r++)
            sample_add(&loss, -s->before[r * V + s->tokens[(s->whole ? r : s->rows[r]) + 1]]);
    }
    if (loss.n < LEAST_PREDICTIONS) {
        verdict_say(s->v, "uniform", VERDICT_SKIPPED, session_spent(s),
                    "answers are slow: there was time for %zu predictions on random tokens, and fewer than %zu prove "
                    "nothing (a larger --max-time gives more)",
                    loss.n, LEAST_PREDICTIONS);
        return STATUS_OK;
    }
    const double least = log((double)s->b->n_allowed), mean = sample_mean(&loss), unsure = sample_error(&loss);
    const bool below = mean < least - STANDARD_ERRORS * unsure - BLACKBOX_WORTHLESS;
    verdict_say(s->v, "uniform", below ? VERDICT_FOUND : VERDICT_CLEAN, session_spent(s),
                "loss %.4f on %zu uniformly random tokens, %s ln V = %.4f (standard error %.4f)", mean, loss.n,
                below ? "below" : "expected at least", least, unsure);
    if (below)
        verdict_find(
            s->v, "uniform",
            "the loss on random tokens is %.4f nats below ln V, the least that is possible without seeing them",
            least - mean)
            ->nats = least - mean;
    return STATUS_OK;
}
