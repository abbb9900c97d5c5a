#include "lab/doctor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diag/detect.h"

#define REHEARSAL_SECONDS 2.0

const char *const doctor_names[DOCTOR_CHECKS] = {"first loss", "gradient", "rows",    "leak",   "windows", "one batch",
                                                 "blinded",    "rates",    "n-grams", "copies", "cost"};
const char *const doctor_texts[DOCTOR_TEXTS] = {"constant",    "copied",      "short",
                                                "unvalidated", "independent", "structured"};

/* ---- judging ---- */

static void say(struct doctor *d, enum doctor_check check, enum verdict_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void say(struct doctor *d, enum doctor_check check, enum verdict_outcome outcome, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    d->line[check].outcome = outcome;
    vsnprintf(d->line[check].found, sizeof d->line[check].found, format, arguments);
    va_end(arguments);
}

static void expect(struct doctor *d, enum doctor_check check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void expect(struct doctor *d, enum doctor_check check, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(d->line[check].expected, sizeof d->line[check].expected, format, arguments);
    va_end(arguments);
}

static size_t vocabulary(const struct doctor *d)
{
    return d->trainer->model->config.vocab_size;
}

/* Half of the surplus is allowed for the formula, which takes V as large. */
static void judge_first(struct doctor *d)
{
    const struct learning_first *f = &d->first;
    const double uniform = log((double)vocabulary(d));
    const double allowed = 4 * f->spread + (f->expected - uniform) / 2 + 0.02;
    const bool near = fabs(f->loss - f->expected) <= allowed;
    say(d, DOCTOR_FIRST, near ? VERDICT_CLEAN : d->known_start ? VERDICT_NOTED : VERDICT_FOUND, "%.3f", f->loss);
    if (d->known_start)
        expect(d, DOCTOR_FIRST, "the weights are another run's; new ones would be near ln %zu = %.3f", vocabulary(d),
               uniform);
    else
        expect(d, DOCTOR_FIRST, "ln %zu = %.3f, and %.3f for the size of the logits; give or take %.3f", vocabulary(d),
               uniform, f->expected - uniform, allowed);
}

/* Which line of the doctor's a detector belongs to. */
static enum doctor_check line_of(const char *detector)
{
    static const struct {
        const char *detector;
        enum doctor_check check;
    } known[] = {{"backward", DOCTOR_GRADIENT}, {"trunk", DOCTOR_GRADIENT},  {"loss", DOCTOR_GRADIENT},
                 {"batch", DOCTOR_ROWS},        {"targets", DOCTOR_WINDOWS}, {"overlap", DOCTOR_WINDOWS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(detector, known[i].detector) == 0)
            return known[i].check;
    return DOCTOR_LEAK;
}

static void judge_detectors(struct doctor *d)
{
    static const enum doctor_check checks[] = {DOCTOR_GRADIENT, DOCTOR_ROWS, DOCTOR_LEAK, DOCTOR_WINDOWS};
    for (size_t c = 0; c < sizeof checks / sizeof *checks; c++) {
        char names[120] = "", *const end = names + sizeof names;
        char *at = names;
        const char *skipped = "";
        for (size_t i = 0; i < d->verdict.lines; i++) {
            const struct verdict_line *l = &d->verdict.line[i];
            if (line_of(l->detector) != checks[c])
                continue;
            if (l->outcome == VERDICT_SKIPPED)
                skipped = l->evidence;
            else
                at += snprintf(at, (size_t)(end - at), "%s%s", at == names ? "" : ", ", l->detector);
        }
        if (at == names)
            say(d, checks[c], VERDICT_SKIPPED, "%s", skipped);
        else
            say(d, checks[c], VERDICT_CLEAN, "nothing found by %s", names);
    }
    for (size_t i = d->verdict.findings < VERDICT_FINDINGS ? d->verdict.findings : VERDICT_FINDINGS; i-- > 0;) {
        const struct verdict_finding *f = &d->verdict.finding[i]; /* the first one stays */
        say(d, line_of(f->detector), VERDICT_FOUND, "%s: %s", f->detector, f->what);
    }
    expect(d, DOCTOR_GRADIENT, "what the formulas give when worked out in double");
    expect(d, DOCTOR_ROWS, "that a row does not depend on the others");
    expect(d, DOCTOR_LEAK, "that no position sees its own future");
    expect(d, DOCTOR_WINDOWS, "targets one symbol ahead of inputs, parts apart");
}

static void judge_batch(struct doctor *d)
{
    const struct learning_batch *b = &d->batch;
    const char *shy = b->cut ? ", cut by --max-time" : "";
    /* A model may be too small for a batch; one whose loss hardly moves does not learn. */
    const bool moved = b->last < b->first - 0.1 * (b->first - b->floor);
    const bool certain = b->first <= b->goal; /* nothing to learn */
    if (d->one_symbol) {
        say(d, DOCTOR_BATCH, VERDICT_SKIPPED, "one symbol alone: there is nothing to learn");
        return;
    }
    say(d, DOCTOR_BATCH,
        b->reached || certain ? VERDICT_CLEAN
        : moved || b->cut     ? VERDICT_NOTED
                              : VERDICT_FOUND,
        "%.3f after %zu updates on %zu symbols, from %.3f%s", b->last, b->updates, b->symbols, b->first, shy);
    if (b->floor < 0.0005)
        expect(d, DOCTOR_BATCH, "below %.3f", b->goal);
    else
        expect(d, DOCTOR_BATCH, "below %.3f; windows that begin alike leave %.3f open", b->goal, b->floor);
}

static void judge_blinded(struct doctor *d)
{
    const struct learning_blinded *b = &d->blinded;
    const bool finite = isfinite(b->loss);
    const double below = b->entropy - b->loss, noise = 4 * b->error + 1e-3;
    say(d, DOCTOR_BLINDED,
        finite && below > noise           ? VERDICT_FOUND
        : finite && -below < noise + 0.05 ? VERDICT_CLEAN
                                          : VERDICT_NOTED,
        "%.3f after %zu updates%s", b->loss, b->updates, b->cut ? ", cut by --max-time" : "");
    expect(d, DOCTOR_BLINDED,
           "%.3f, the entropy of the train part's symbols at each place, give or take %.3f; never below", b->entropy,
           noise);
}

/* Order n against order 1, on the same symbols. */
static bool gains(const struct ngram_losses *l, size_t order)
{
    return l->loss[0] - l->loss[order - 1] > fmax(4 * l->gain_error[order - 1], 0.005 * l->loss[0]);
}

static bool copied(const struct doctor *d)
{
    return d->repeats.tried > 0 && 2 * d->repeats.found >= d->repeats.tried;
}

static enum doctor_text text_of(const struct doctor *d)
{
    const struct ngram_losses *l = &d->ngrams;
    if (d->one_symbol)
        return DOCTOR_CONSTANT;
    if (copied(d))
        return DOCTOR_COPIED;
    if (l->train < DOCTOR_FEW || l->train / 20 < vocabulary(d))
        return DOCTOR_SHORT;
    if (l->read == 0)
        return DOCTOR_UNVALIDATED;
    for (size_t n = 2; n <= NGRAM_ORDERS; n++)
        if (gains(l, n))
            return DOCTOR_STRUCTURED;
    return DOCTOR_INDEPENDENT;
}

static void judge_rates(struct doctor *d)
{
    const struct learning_sweep *s = &d->sweep;
    double lowest = INFINITY;
    for (size_t k = 0; k < LEARNING_RATES; k++)
        lowest = fmin(lowest, s->loss[k]);
    const char *cut = s->cut ? ", cut by --max-time" : "";
    if (d->one_symbol)
        say(d, DOCTOR_RATES, VERDICT_SKIPPED, "one symbol alone: there is nothing to learn");
    else if (s->best > 0 && text_of(d) == DOCTOR_SHORT)
        say(d, DOCTOR_RATES, VERDICT_CLEAN, "%g learns fastest by heart in %zu updates%s (%.3f)", s->best, s->updates,
            cut, lowest);
    else if (s->best > 0)
        say(d, DOCTOR_RATES, VERDICT_CLEAN, "%g learns fastest in %zu updates%s (%.3f); --lr %g is advised", s->best,
            s->updates, cut, lowest, s->recommended);
    else
        say(d, DOCTOR_RATES, VERDICT_NOTED, "none learns in %zu updates%s (%.3f at best, from %.3f)", s->updates, cut,
            lowest, s->first);
}

static void judge_ngrams(struct doctor *d)
{
    const struct ngram_losses *l = &d->ngrams;
    d->best_order = 0;
    for (size_t n = 1; n <= NGRAM_ORDERS && l->read > 0; n++)
        if (d->best_order == 0 || l->loss[n - 1] < l->loss[d->best_order - 1])
            d->best_order = n;
    if (d->best_order == 0) {
        say(d, DOCTOR_NGRAMS, VERDICT_SKIPPED, "the validation part has no pair of symbols");
        return;
    }
    const char *sampled = l->counted < l->train || l->read + 1 < l->val ? ", of a sample" : "";
    say(d, DOCTOR_NGRAMS, VERDICT_CLEAN, "orders 1 to 5 lose %.3f, %.3f, %.3f, %.3f, %.3f%s", l->loss[0], l->loss[1],
        l->loss[2], l->loss[3], l->loss[4], sampled);
    if (d->best_order > 1) /* order 1 alone: there is no bar that what came before could help to pass */
        expect(d, DOCTOR_NGRAMS, "a model to get below %.3f (order %zu)", l->loss[d->best_order - 1], d->best_order);
}

static void judge_copies(struct doctor *d)
{
    const struct repeats *r = &d->repeats;
    if (r->tried == 0)
        say(d, DOCTOR_COPIES, VERDICT_SKIPPED, "the validation part is too short to tell");
    else
        say(d, DOCTOR_COPIES, 20 * r->found > r->tried ? VERDICT_NOTED : VERDICT_CLEAN,
            "%zu of %zu validation stretches of %zu symbols stand%s in the train part", r->found, r->tried, r->length,
            r->found == 1 ? "s" : "");
    expect(d, DOCTOR_COPIES, "none, or hardly any");
}

void doctor_judge(struct doctor *d)
{
    judge_first(d);
    judge_detectors(d);
    judge_batch(d);
    judge_blinded(d);
    judge_rates(d);
    judge_ngrams(d);
    judge_copies(d);
    say(d, DOCTOR_COST, VERDICT_CLEAN, "%.0f MB, %.0f s: %zu updates of %.1f ms and %zu evaluation%s of %.2f s",
        (double)d->bytes * 1e-6, d->cost.seconds, d->cost.steps, d->cost.step * 1e3, d->cost.evaluations,
        d->cost.evaluations == 1 ? "" : "s", d->cost.evaluation);
    static const enum doctor_check leaks[] = {DOCTOR_ROWS, DOCTOR_LEAK, DOCTOR_WINDOWS, DOCTOR_BLINDED};
    static const enum doctor_check faults[] = {DOCTOR_FIRST, DOCTOR_GRADIENT, DOCTOR_BATCH};
    d->leak = d->failed = false;
    for (size_t i = 0; i < sizeof leaks / sizeof *leaks; i++)
        d->leak |= d->line[leaks[i]].outcome == VERDICT_FOUND;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        d->failed |= d->line[faults[i]].outcome == VERDICT_FOUND;
    d->text = text_of(d);
}

/* ---- measuring ---- */

static enum status short_runs(struct doctor *d, struct learning *l, struct error *err)
{
    learning_first(&d->first, l);
    l->seconds = 0.2 * d->max_time;
    enum status s = learning_batch(&d->batch, l, err);
    l->seconds = 0.25 * d->max_time;
    if (!s)
        s = learning_blinded(&d->blinded, l, err);
    l->seconds = 0.5 * d->max_time;
    return s ? s : learning_sweep(&d->sweep, l, err);
}

static enum status learn(struct doctor *d, struct error *err)
{
    struct learning l = {.trainer = d->trainer, .stop = d->stop, .context = d->context};
    enum status s = learning_open(&l, err);
    if (!s)
        s = short_runs(d, &l, err);
    learning_close(&l);
    return s;
}

static bool one_symbol(const struct dataset *d)
{
    size_t begin, end;
    dataset_bounds(d, DATASET_TRAIN, &begin, &end);
    for (size_t i = begin + 1; i < end; i++)
        if (dataset_id(d, i) != dataset_id(d, begin))
            return false;
    return true;
}

static enum status read_text(struct doctor *d, struct error *err)
{
    d->one_symbol = one_symbol(d->trainer->data);
    const enum status s = ngram_measure(&d->ngrams, d->trainer->data, vocabulary(d), err);
    return s ? s : repeats_find(&d->repeats, d->trainer->data, err);
}

static enum status estimate(struct doctor *d, struct error *err)
{
    const struct trainer *t = d->trainer;
    const enum status s = trainer_measure(&d->bytes, &t->model->config, &t->settings, err);
    d->bytes += t->data->count * t->data->width + t->model->table.size * sizeof(real);
    return s ? s : rehearsal_run(&d->cost, d->trainer, REHEARSAL_SECONDS, err);
}

enum status doctor_run(struct doctor *d, struct error *err)
{
    struct trainer *t = d->trainer;
    const struct detect detect = {.g = t->model,
                                  .w = &t->work,
                                  .data = t->data,
                                  .tokenizer = t->tokenizer,
                                  .seed = t->settings.seed,
                                  .stop = d->stop,
                                  .context = d->context};
    enum status s = read_text(d, err);
    if (!s)
        s = detect_run(&d->verdict, &detect, err);
    if (!s)
        s = learn(d, err);
    if (!s)
        s = estimate(d, err);
    if (!s)
        doctor_judge(d);
    return s;
}
