#include "diag/detect.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "diag/batch.h"
#include "diag/decoding.h"
#include "diag/definition.h"
#include "diag/derivative.h"
#include "diag/findings.h"
#include "diag/generation.h"
#include "diag/leak.h"
#include "diag/leak_locate.h"
#include "diag/lossgrad.h"
#include "diag/modes.h"
#include "diag/noise.h"
#include "diag/possible.h"
#include "diag/scores.h"
#include "diag/stress.h"
#include "diag/trunk.h"
#include "diag/windows.h"

const char *const detect_names[DETECT_COUNT] = {"suffix", "gradient", "blocks",  "definition", "backward",   "trunk",
                                                "loss",   "training", "batch",   "decode",     "generation", "margin",
                                                "stress", "uniform",  "entropy", "targets",    "overlap"};

#define CORPUS_SIZE 20000
#define UNIFORM_SYMBOLS 4096

/* What the detectors share. */
struct job {
    struct verdict *v;
    const struct detect *d;
    uint32_t *tokens, *targets; /* (B,T) of the run's text, or random */
    struct leak_report *leak;
    struct gpt soft; /* the model, with scores small enough to be judged in single precision */
    bool softened;   /* ... which it has not itself */
    bool *undefined; /* (L): blocks whose forward pass is not as its formulas say */
};

static enum status check_leak(struct job *j, struct error *err)
{
    const struct detect *d = j->d;
    struct leak_report *r = j->leak;
    const enum status s = leak_check(r, d->g, d->w, d->quick ? LEAK_QUICK : LEAK_EVERY, d->seed, 0, err);
    if (s)
        return s;
    const char *modes = d->g->config.dropout > 0 && !d->quick ? ", with and without dropout" : "";
    if (r->suffix_leaks)
        verdict_say(j->v, "suffix", VERDICT_FOUND, r->suffix_seconds,
                    "changing symbols from position %zu on changes earlier logits by up to %.3g", r->suffix_position,
                    r->suffix_change);
    else if (r->logging_leaks)
        verdict_say(j->v, "suffix", VERDICT_FOUND, r->suffix_seconds, "logits depend on whether attention is logged");
    else if (r->positions == 0)
        verdict_say(j->v, "suffix", VERDICT_SKIPPED, r->suffix_seconds,
                    "a context or a vocabulary of one symbol leaves nothing to change");
    else
        verdict_say(j->v, "suffix", VERDICT_CLEAN, r->suffix_seconds,
                    "%zu suffixes changed%s%s: every earlier logit the same bits", r->positions, modes,
                    d->quick ? "" : ", logged or not");
    if (r->gradients == 0)
        verdict_say(j->v, "gradient", VERDICT_SKIPPED, r->gradient_seconds, "a context of one symbol has no future");
    else if (r->gradient_leaks)
        verdict_say(j->v, "gradient", VERDICT_FOUND, r->gradient_seconds, "gradients to later positions reach %.3g",
                    r->gradient_size);
    else
        verdict_say(j->v, "gradient", VERDICT_CLEAN, r->gradient_seconds,
                    "from %zu positions%s: exactly 0 at every later one", r->gradients, modes);
    const char *detector = r->suffix_leaks || r->logging_leaks ? "suffix" : "gradient";
    /* Rows of the batch are changed at different positions: what is seen may be another row. */
    if (r->suffix_leaks && !r->own_row && r->places == 0)
        verdict_find(j->v, detector,
                     "logits change with other rows of the batch, not with what comes later in their own");
    else
        findings_of_leak(j->v, detector, r);
    return STATUS_OK;
}

/* After check_leak, which has located what it found. */
static enum status check_blocks(struct job *j, struct error *err)
{
    const bool located = j->leak->leak;
    const double start = clock_seconds();
    const enum status s = located ? STATUS_OK : leak_locate(j->leak, j->d->g, j->d->w, j->d->seed, 0, err);
    if (s)
        return s;
    /* Where scores are large a head may give no weight to what it sees. */
    if (!located && j->leak->places == 0 && j->softened) {
        const enum status soft = leak_locate(j->leak, &j->soft, j->d->w, j->d->seed, 0, err);
        if (soft)
            return soft;
    }
    const size_t places = j->leak->places;
    const double seconds = located ? j->leak->locate_seconds : clock_seconds() - start;
    if (places)
        verdict_say(j->v, "blocks", VERDICT_FOUND, seconds, "%zu place%s in the blocks, tried alone, see later rows",
                    places, places == 1 ? "" : "s");
    else
        verdict_say(j->v, "blocks", VERDICT_CLEAN, seconds,
                    "every operation and head alone, for small and huge changes: no later row is seen");
    if (!located)
        findings_of_leak(j->v, "blocks", j->leak);
    return STATUS_OK;
}

/* On the model, and where its scores are too large to judge attention by, on a copy in which they are small. */
static enum status compare_definition(struct definition_report *r, const struct job *j, struct error *err)
{
    const struct detect *d = j->d;
    const size_t B = d->w->B, T = d->w->T;
    const struct gpt_pass training = {.training = true, .seed = d->seed, .step = 3, .first_row = 5};
    enum status s = STATUS_OK;
    *r = (struct definition_report){0};
    for (int soft = 0; !s && soft < 2 && (soft == 0 || (r->places == 0 && j->softened)); soft++)
        /* as in evaluation, and where dropout makes a difference, as in training; the first row and the last */
        for (int mode = 0; !s && mode <= (d->g->config.dropout > 0) && r->places == 0; mode++) {
            const struct gpt *g = soft ? &j->soft : d->g;
            const struct gpt_pass *pass = mode ? &training : &gpt_evaluating;
            gpt_forward(g, d->w, j->tokens, B, T, pass);
            s = definition_check(r, g, d->w, j->tokens, T, 0, pass, err);
            if (!s && B > 1 && r->places == 0)
                s = definition_check(r, g, d->w, j->tokens, T, B - 1, pass, err);
        }
    return s;
}

static enum status check_definition(struct job *j, struct error *err)
{
    struct definition_report *r = malloc(sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "check: out of memory");
    const enum status s = compare_definition(r, j, err);
    if (!s && r->places)
        verdict_say(j->v, "definition", VERDICT_FOUND, 0, "%zu operation%s not what the formula says", r->places,
                    r->places == 1 ? " is" : "s are");
    else if (!s)
        verdict_say(j->v, "definition", VERDICT_CLEAN, 0,
                    "%zu rows worked out again in double: all as the formulas say", r->rows);
    for (size_t k = 0; !s && k < r->places && k < DEFINITION_PLACES; k++) {
        const struct definition_place *p = &r->place[k];
        struct verdict_finding *f = verdict_find(j->v, "definition", "%s is not what its formula says%s%s",
                                                 p->operation, p->reads ? ": it acts " : "", p->reads ? p->reads : "");
        f->layer = p->layer;
        f->head = p->head;
        snprintf(f->operation, sizeof f->operation, "%s", p->operation);
        if (p->layer != DEFINITION_NOWHERE)
            j->undefined[p->layer] = true;
    }
    free(r);
    return s;
}

static enum status check_derivative(struct job *j, struct error *err)
{
    return derivative_check(j->v, &j->soft, j->d->w, j->undefined, j->d->seed, err);
}

static enum status check_trunk(struct job *j, struct error *err)
{
    return trunk_check(j->v, &j->soft, j->d->w, j->d->seed, err);
}

static enum status check_loss(struct job *j, struct error *err)
{
    return lossgrad_check(j->v, j->d->g, j->d->w, j->tokens, j->targets, err);
}

static enum status check_modes(struct job *j, struct error *err)
{
    return modes_check(j->v, j->d->g, j->d->w, j->tokens, j->d->seed, err);
}

static enum status check_batch(struct job *j, struct error *err)
{
    return batch_check(j->v, j->d->g, j->d->w, j->d->seed, err);
}

static enum status check_decode(struct job *j, struct error *err)
{
    return decoding_check(j->v, j->d->g, j->d->w, j->d->quick ? 8 : DECODING_LENGTHS, j->d->seed, err);
}

/* Windows short and few enough: each costs T/2 times what a pass over it does. */
static enum status check_generation(struct job *j, struct error *err)
{
    const struct detect *d = j->d;
    const size_t T = d->w->T < (d->quick ? 64 : 128) ? d->w->T : d->quick ? 64 : 128;
    const size_t rows = d->quick ? 4200 : 65536, cost = T * (T + 1) / 2;
    size_t n = rows / cost < 1 ? 1 : rows / cost;
    n = n < d->w->B ? n : d->w->B;
    uint32_t *tokens = malloc(2 * n * T * sizeof *tokens);
    if (!tokens)
        return fail(err, STATUS_MEMORY, "check: out of memory");
    uint32_t *targets = tokens + n * T;
    for (size_t k = 0; k < n * T; k++) {
        tokens[k] = j->tokens[k / T * d->w->T + k % T];
        targets[k] = j->targets[k / T * d->w->T + k % T];
    }
    struct generation r;
    struct noise noise;
    enum status s = generation_loss(&r, d->g, d->w, tokens, targets, n, T, err);
    if (!s)
        s = noise_measure(&noise, d->g, d->w, tokens, targets, n, T, d->seed, err);
    free(tokens);
    if (s)
        return s;
    const double worth = r.loss - r.parallel, allowed = 1e-5 + 8 * noise.loss;
    const bool differ = fabs(worth) > allowed;
    j->v->nats = worth;
    verdict_say(j->v, "generation", differ ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                "loss with no future present %.4f, of whole windows %.4f: the future is worth %.4f nats a symbol",
                r.loss, r.parallel, differ ? worth : 0.0);
    if (differ)
        verdict_find(j->v, "generation", "with no future present the loss is %.4f nats %s than over whole windows",
                     fabs(worth), worth > 0 ? "higher" : "lower")
            ->nats = worth;
    return STATUS_OK;
}

static enum status check_stress(struct job *j, struct error *err)
{
    return stress_check(j->v, j->d->g, j->d->w, j->tokens, j->d->seed, err);
}

static enum status check_uniform(struct job *j, struct error *err)
{
    const size_t windows = UNIFORM_SYMBOLS / j->d->w->T;
    return possible_uniform(j->v, j->d->g, j->d->w, windows < 16 ? 16 : windows > 256 ? 256 : windows, j->d->seed, err);
}

static enum status check_entropy(struct job *j, struct error *err)
{
    if (!j->d->tokenizer) {
        verdict_say(j->v, "entropy", VERDICT_SKIPPED, 0, "no vocabulary to write text of known entropy with");
        return STATUS_OK;
    }
    return possible_entropy(j->v, j->d->g, j->d->w, j->d->tokenizer, CORPUS_SIZE, j->d->seed + 1000, err);
}

static enum status check_windows(struct job *j, struct error *err)
{
    return windows_check(j->v, j->d->data, j->d->w->T, j->d->seed, err);
}

static const struct detector {
    const char *name; /* of its first line */
    enum status (*run)(struct job *j, struct error *err);
    bool quick;
} detectors[] = {
    {"suffix", check_leak, true},           {"blocks", check_blocks, false},  {"definition", check_definition, false},
    {"backward", check_derivative, false},  {"trunk", check_trunk, false},    {"loss", check_loss, true},
    {"training", check_modes, false},       {"batch", check_batch, true},     {"decode", check_decode, true},
    {"generation", check_generation, true}, {"stress", check_stress, false},  {"uniform", check_uniform, false},
    {"entropy", check_entropy, false},      {"targets", check_windows, true},
};
enum { DETECTORS = sizeof detectors / sizeof *detectors };

/* Windows of the validation part if it holds one, else of the train part, else random symbols. */
static void read_text(const struct job *j)
{
    const struct detect *d = j->d;
    const size_t B = d->w->B, T = d->w->T;
    const struct rng_site site = {.seed = d->seed, .purpose = RNG_CHECK, .head = 10};
    if (d->data && d->data->count > T) {
        size_t begin, end;
        dataset_bounds(d->data, DATASET_VAL, &begin, &end);
        if (end - begin <= T)
            dataset_bounds(d->data, DATASET_ALL, &begin, &end);
        for (size_t b = 0; b < B; b++) {
            const size_t start = begin + (size_t)rng_below(&site, (uint32_t)b, end - begin - T);
            for (size_t t = 0; t < T; t++) {
                j->tokens[b * T + t] = dataset_id(d->data, start + t);
                j->targets[b * T + t] = dataset_id(d->data, start + t + 1);
            }
        }
        return;
    }
    for (size_t k = 0; k < B * T; k++) {
        j->tokens[k] = (uint32_t)rng_below(&site, (uint32_t)(2 * k), d->g->config.vocab_size);
        j->targets[k] = (uint32_t)rng_below(&site, (uint32_t)(2 * k + 1), d->g->config.vocab_size);
    }
}

/* What is found about later positions is worth what the generation loss says. */
static void price(struct verdict *v)
{
    const size_t kept = v->findings < VERDICT_FINDINGS ? v->findings : VERDICT_FINDINGS;
    for (size_t k = 0; k < kept; k++)
        if (isnan(v->finding[k].nats) && v->finding[k].shape.pattern != CHART_CAUSAL)
            v->finding[k].nats = v->nats;
}

static enum status run(struct job *j, struct error *err)
{
    read_text(j);
    const struct scores scores = scores_measure(j->d->g, j->d->w, j->tokens);
    const double large = fmax(1, scores_size(&scores) / 10);
    j->softened = large > 1;
    const enum status made = scores_scaled(&j->soft, j->d->g, sqrt(1 / large), err);
    if (made)
        return made;
    for (size_t k = 0; k < DETECTORS; k++) {
        if (j->d->quick && !detectors[k].quick)
            continue;
        if (j->d->stop && j->d->stop(j->d->context, detectors[k].name, k, DETECTORS))
            return fail(err, STATUS_INTERRUPTED, "interrupted while checking (%s)", detectors[k].name);
        const size_t first = j->v->lines;
        const double start = clock_seconds();
        const enum status s = detectors[k].run(j, err);
        if (s)
            return s;
        /* a detector that has not said what its lines cost: the last one bears it */
        if (j->v->lines > first && j->v->line[j->v->lines - 1].seconds == 0)
            j->v->line[j->v->lines - 1].seconds = clock_seconds() - start;
    }
    price(j->v);
    return STATUS_OK;
}

enum status detect_run(struct verdict *v, const struct detect *d, struct error *err)
{
    assert(d->w->training && d->w->T == d->g->config.block_size);
    *v = (struct verdict){.nats = (double)NAN};
    const size_t n = d->w->B * d->w->T;
    struct job j = {.v = v, .d = d};
    j.tokens = malloc(n * sizeof *j.tokens);
    j.targets = malloc(n * sizeof *j.targets);
    j.leak = calloc(1, sizeof *j.leak);
    j.undefined = calloc(d->g->config.n_layer, sizeof *j.undefined);
    const enum status s = j.tokens && j.targets && j.leak && j.undefined
                              ? run(&j, err)
                              : fail(err, STATUS_MEMORY, "check: memory for a batch of %zu symbols was refused", n);
    free(j.tokens);
    free(j.targets);
    scores_free(&j.soft);
    free(j.leak);
    free(j.undefined);
    return s;
}
