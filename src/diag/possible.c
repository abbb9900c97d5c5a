#include "diag/possible.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "text/bank.h"
#include "text/corpus.h"

#define STANDARD_ERRORS 4
#define ROUNDING 1e-5 /* where every loss is the same, the standard error says nothing */

/* Mean of loss less what is possible, by windows: symbols within one hang together, windows less so. */
struct excess {
    double sum, squares;
    size_t windows, symbols;
};

static void add_window(struct excess *e, double mean, size_t symbols)
{
    e->sum += mean;
    e->squares += mean * mean;
    e->windows++;
    e->symbols += symbols;
}

static double excess_mean(const struct excess *e)
{
    return e->sum / (double)e->windows;
}

static double excess_error(const struct excess *e)
{
    const double n = (double)e->windows, mean = excess_mean(e);
    return n < 2 ? (double)INFINITY : sqrt(fmax(0, e->squares / n - mean * mean) / (n - 1));
}

static enum status judge(struct verdict *v, const char *detector, const struct excess *e, double possible,
                         const char *of, struct error *err)
{
    const double mean = excess_mean(e), error = excess_error(e);
    if (!isfinite(mean))
        return fail(err, STATUS_NONFINITE, "check: the loss is not finite: the weights are spoiled");
    const bool below = mean < -STANDARD_ERRORS * error - ROUNDING;
    verdict_say(v, detector, below ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                "%zu symbols: loss %.4f, %s %.4f; difference %+.4f, standard error %.4f", e->symbols, possible + mean,
                of, possible, mean, error);
    if (below)
        verdict_find(v, detector, "the loss lies %.4f nats below %s, which no model reaches that cannot see the future",
                     -mean, of)
            ->nats = -mean;
    return STATUS_OK;
}

/* Windows of symbols that are each a draw of their own; the text goes on one symbol past the end, for the last target.
 */
static void draw_windows(uint32_t *ids, uint32_t *targets, size_t first, size_t B, size_t T, size_t V, uint64_t seed)
{
    for (size_t b = 0; b < B; b++) {
        const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 9, .row = (uint32_t)(first + b)};
        for (size_t t = 0; t < T; t++) {
            ids[b * T + t] = (uint32_t)rng_below(&site, (uint32_t)t, V);
            targets[b * T + t] = (uint32_t)rng_below(&site, (uint32_t)t + 1, V);
        }
    }
}

static void add_windows(struct excess *e, const struct gpt *g, struct work *w, const uint32_t *ids,
                        const uint32_t *targets, size_t B)
{
    const size_t T = w->T;
    gpt_forward(g, w, ids, B, T, &gpt_quiet);
    gpt_loss(g, w, targets, B, T);
    for (size_t b = 0; b < B; b++) {
        double sum = 0;
        for (size_t t = 0; t < T; t++)
            sum += (double)w->loss[b * T + t];
        add_window(e, sum / (double)T - log((double)g->config.vocab_size), T);
    }
}

enum status possible_uniform(struct verdict *v, const struct gpt *g, struct work *w, size_t windows, uint64_t seed,
                             struct error *err)
{
    const size_t T = w->T, V = g->config.vocab_size;
    if (V < 2) {
        verdict_say(v, "uniform", VERDICT_SKIPPED, 0, "one symbol alone leaves nothing to guess");
        return STATUS_OK;
    }
    uint32_t *ids = malloc(2 * w->B * T * sizeof *ids);
    if (!ids)
        return fail(err, STATUS_MEMORY, "check: out of memory");
    uint32_t *targets = ids + w->B * T;
    struct excess e = {0};
    for (size_t window = 0; window < windows;) {
        const size_t B = windows - window < w->B ? windows - window : w->B;
        draw_windows(ids, targets, window, B, T, V, seed);
        add_windows(&e, g, w, ids, targets, B);
        window += B;
    }
    free(ids);
    return judge(v, "uniform", &e, log((double)V), "ln V", err);
}

/* As many windows at once as w has rows. ids (count) */
static enum status measure_corpus(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *ids,
                                  const struct corpus *c, struct error *err)
{
    const size_t T = w->T < 256 ? w->T : 256; /* more windows, for the standard error */
    struct excess e = {0};
    double entropy = 0;
    for (size_t start = 0; start + T < c->count;) {
        const size_t left = (c->count - 1 - start) / T, B = left < w->B ? left : w->B;
        gpt_forward(g, w, ids + start, B, T, &gpt_quiet);
        gpt_loss(g, w, ids + start + 1, B, T); /* windows stand end to end, and so do their targets */
        for (size_t b = 0; b < B; b++, start += T) {
            double sum = 0;
            for (size_t t = 0; t < T; t++) {
                sum += (double)w->loss[b * T + t] - c->nats[start + t + 1];
                entropy += c->nats[start + t + 1];
            }
            add_window(&e, sum / (double)T, T);
        }
    }
    return judge(v, "entropy", &e, entropy / (double)e.symbols, "the text's true entropy", err);
}

enum status possible_entropy(struct verdict *v, const struct gpt *g, struct work *w, const struct tokenizer *t,
                             size_t size, uint64_t seed, struct error *err)
{
    struct grammar grammar;
    struct corpus c;
    enum status s = grammar_make(&grammar, &bank_source, err);
    if (s)
        return s;
    s = corpus_make(&c, &grammar, seed, size > 4 * w->T ? size : 4 * w->T, err);
    if (!s) {
        uint32_t *ids = NULL;
        size_t count;
        struct error unknown;
        s = tokenizer_encode(t, &ids, &count, (const uint8_t *)c.text, c.count, "the corpus", &unknown);
        if (s == STATUS_FORMAT) {
            verdict_say(v, "entropy", VERDICT_SKIPPED, 0, "not trained on text of which the true entropy is known");
            s = STATUS_OK;
        } else {
            s = s ? fail(err, s, "%s", unknown.message) : measure_corpus(v, g, w, ids, &c, err);
        }
        free(ids);
        corpus_free(&c);
    }
    grammar_free(&grammar);
    return s;
}
