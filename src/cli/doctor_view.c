#include "cli/doctor_view.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "cli/human.h"
#include "io/metrics.h"

static const char *const words[] = {"ok", "FAULT", "note", "-"}; /* as enum verdict_outcome */
static const char *const keys[] = {"ok", "fault", "note", "skipped"};

#define LABEL 32

static void print_check(struct terminal *out, const struct doctor *d, enum doctor_check check)
{
    const struct doctor_line *l = &d->line[check];
    char label[LABEL];
    snprintf(label, sizeof label, "%-11s %-6s", doctor_names[check], words[l->outcome]);
    terminal_entry(out, label, "%s%s%s", l->found, l->expected[0] ? "; expected " : "", l->expected);
}

/* Every rate that was tried: where the curve turns is to be seen. */
static void print_rates(struct terminal *out, const struct learning_sweep *s)
{
    char row[240] = "";
    size_t used = 0;
    for (size_t k = 0; k < LEARNING_RATES && used < sizeof row; k++) {
        const int n = isfinite(s->loss[k])
                          ? snprintf(row + used, sizeof row - used, "%s%g: %.3f", k ? ", " : "", s->rate[k], s->loss[k])
                          : snprintf(row + used, sizeof row - used, "%s%g: diverges", k ? ", " : "", s->rate[k]);
        used += n > 0 ? (size_t)n : 0;
    }
    terminal_entry(out, "                  ", "%s", row);
}

static void print_cost(struct terminal *out, const struct doctor *d)
{
    char a[HUMAN_SIZE], b[HUMAN_SIZE], c[HUMAN_SIZE], f[HUMAN_SIZE], step[HUMAN_SIZE], evaluation[HUMAN_SIZE];
    const size_t available = memory_available();
    terminal_entry(out, "cost        ok    ", "%s of memory%s%s%s, about %s: %s steps of %s and %zu evaluation%s of %s",
                   human_bytes(a, d->bytes), available ? " (" : "", available ? human_bytes(f, available) : "",
                   available ? " more are free)" : "", human_duration(b, d->cost.seconds),
                   human_count(c, d->cost.steps), human_duration(step, d->cost.step), d->cost.evaluations,
                   d->cost.evaluations == 1 ? "" : "s", human_duration(evaluation, d->cost.evaluation));
}

/* ---- what it means ---- */

static double bar(const struct doctor *d)
{
    return d->best_order ? d->ngrams.loss[d->best_order - 1] : (double)NAN;
}

/* How often the whole run reads the train part. */
static double passes(const struct doctor *d)
{
    const struct trainer_settings *s = &d->trainer->settings;
    return (double)s->schedule.steps * (double)(s->batch_size * s->grad_accum) *
           (double)d->trainer->model->config.block_size / (double)d->ngrams.train;
}

static void say_text(struct terminal *out, const struct doctor *d, const char *units)
{
    const size_t V = d->trainer->model->config.vocab_size, N = d->ngrams.train;
    const struct ngram_losses *l = &d->ngrams;
    char a[HUMAN_SIZE], b[HUMAN_SIZE];
    const double uniform = log((double)V);
    switch (d->text) {
    case DOCTOR_CONSTANT:
        terminal_entry(out, "text      ",
                       "One symbol and no other: what follows is certain, the loss is 0 from the start or soon, and "
                       "there is nothing to learn. Was it the right file?");
        return;
    case DOCTOR_COPIED:
        terminal_entry(out, "text      ",
                       "The validation part is mostly a copy of the training part: %zu of %zu stretches of it stand "
                       "there word for word. A low validation loss will show what was learnt by heart, not what holds "
                       "for new text. Take the repetitions out, or evaluate on another text (nopeek eval RUN OTHER).",
                       d->repeats.found, d->repeats.tried);
        return;
    case DOCTOR_SHORT:
        terminal_entry(out, "text      ",
                       "Too short: %s %s to train on, %zu distinct, for %s parameters. The model will learn them by "
                       "heart: the training loss falls, the validation loss soon rises again.",
                       human_count(a, N), units, V, human_count(b, d->trainer->model->table.size));
        if (d->best_order < NGRAM_ORDERS && l->loss[NGRAM_ORDERS - 1] > bar(d))
            terminal_entry(out, "          ",
                           "N-grams do so already: order %zu is best at %.3f, and order %d loses %.3f.", d->best_order,
                           bar(d), NGRAM_ORDERS, l->loss[NGRAM_ORDERS - 1]);
        terminal_entry(out, "          ",
                       "More text helps most; with this one keep the model small, the steps few and dropout on, and "
                       "use RUN/best.");
        return;
    case DOCTOR_UNVALIDATED:
        terminal_entry(out, "text      ",
                       "Nothing is kept for validation, so nobody can tell learning from learning by heart: give "
                       "--val-split 0.1, or a longer text.");
        return;
    case DOCTOR_INDEPENDENT:
        terminal_entry(out, "text      ",
                       "What came before does not help: no order of n-gram beats symbol frequencies alone, %.3f nats "
                       "(guessing all alike: ln %zu = %.3f), and long ones lose more (order %d: %.3f). So looks noise, "
                       "and what is compressed or encrypted: no model can be expected below that, training is "
                       "pointless, and a validation loss well below %.3f would be a leak.",
                       l->loss[0], V, uniform, NGRAM_ORDERS, l->loss[NGRAM_ORDERS - 1], fmin(l->loss[0], uniform));
        return;
    case DOCTOR_STRUCTURED:
        terminal_entry(out, "text      ",
                       "There is structure: what came before takes the loss from %.3f (frequencies alone; guessing "
                       "all alike ln %zu = %.3f) to %.3f with order %zu. That is the bar: a model whose validation "
                       "loss stays above %.3f has learnt less than counting gives.",
                       l->loss[0], V, uniform, bar(d), d->best_order, bar(d));
        if (passes(d) < 4)
            terminal_entry(out, "          ",
                           "The run reads the text %.1f times: if it ends above the bar, give it more --steps first.",
                           passes(d));
        return;
    case DOCTOR_TEXTS:
        return;
    }
}

static bool worth_training(const struct doctor *d)
{
    return d->text != DOCTOR_INDEPENDENT && d->text != DOCTOR_CONSTANT && !d->failed && !d->leak;
}

/* What is learnt by heart is learnt at any rate: the fastest is no better. */
static bool rate_will_do(const struct doctor *d)
{
    const double yours = d->trainer->settings.schedule.lr, advised = d->sweep.recommended;
    return !(advised > 0) || d->text == DOCTOR_SHORT || (yours < 2 * advised && yours > advised / 2);
}

static void say_rate(struct terminal *out, const struct doctor *d)
{
    const double yours = d->trainer->settings.schedule.lr, advised = d->sweep.recommended;
    if (!(advised > 0) || d->text == DOCTOR_SHORT || !worth_training(d))
        return;
    if (rate_will_do(d))
        terminal_entry(out, "rate      ", "--lr %g, as it is.", advised);
    else
        terminal_entry(
            out, "rate      ",
            "--lr %g, the highest of those within 4 %% of the best in short runs, which favour low rates; as "
            "it is, training would take %g.",
            advised, yours);
}

static void say_next(struct terminal *out, const struct doctor *d)
{
    char time[HUMAN_SIZE], rate[32] = "";
    if (!worth_training(d))
        return;
    if (!rate_will_do(d))
        snprintf(rate, sizeof rate, " and --lr %g", d->sweep.recommended);
    terminal_entry(out, "next      ", "nopeek train, with the same text and options%s: about %s on this machine.", rate,
                   human_duration(time, d->cost.seconds));
}

static void say_alarm(struct terminal *out, const struct doctor *d)
{
    fputs(terminal_style(out, TERMINAL_RED), out->stream);
    for (size_t c = 0; c < DOCTOR_CHECKS; c++)
        if (d->line[c].outcome == VERDICT_FOUND)
            terminal_entry(out, "fault     ",
                           "%s: expected %s, found %s. No loss is to be trusted before that is "
                           "mended.",
                           doctor_names[c], d->line[c].expected, d->line[c].found);
    fputs(terminal_style(out, TERMINAL_PLAIN), out->stream);
}

void doctor_view_print(struct terminal *out, const struct doctor *d, const char *units)
{
    for (size_t c = 0; c < DOCTOR_COST; c++) {
        print_check(out, d, (enum doctor_check)c);
        if (c == DOCTOR_RATES && !d->one_symbol)
            print_rates(out, &d->sweep);
    }
    print_cost(out, d);
    fputc('\n', out->stream);
    say_alarm(out, d);
    say_text(out, d, units);
    say_rate(out, d);
    say_next(out, d);
}

/* ---- JSON ---- */

static json_t *checks_json(const struct doctor *d)
{
    json_t *all = json_array();
    for (size_t c = 0; c < DOCTOR_CHECKS; c++) {
        const struct doctor_line *l = &d->line[c];
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s}", "check", doctor_names[c], "outcome",
                                             keys[l->outcome], "found", l->found, "expected", l->expected));
    }
    return all;
}

static json_t *rates_json(const struct learning_sweep *s)
{
    json_t *all = json_array();
    for (size_t k = 0; k < LEARNING_RATES; k++)
        json_array_append_new(
            all, json_pack("{s:o, s:o}", "lr", metrics_number(s->rate[k]), "loss", metrics_number(s->loss[k])));
    return all;
}

static json_t *ngrams_json(const struct ngram_losses *l)
{
    json_t *all = json_array();
    for (size_t k = 0; k < NGRAM_ORDERS; k++)
        json_array_append_new(all, metrics_number(l->loss[k]));
    return all;
}

static json_t *number(double x, bool known)
{
    return known ? metrics_number(x) : json_null();
}

json_t *doctor_view_json(const struct doctor *d, double seconds)
{
    const size_t V = d->trainer->model->config.vocab_size;
    json_t *o = json_pack("{s:s, s:b, s:b, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "text", doctor_texts[d->text], "leak",
                          d->leak, "failed", d->failed, "checks", checks_json(d), "vocab_size", (json_int_t)V,
                          "train_symbols", (json_int_t)d->ngrams.train, "uniform_loss", metrics_number(log((double)V)),
                          "ngram_loss", ngrams_json(&d->ngrams), "best_order",
                          d->best_order ? json_integer((json_int_t)d->best_order) : json_null(), "bar",
                          number(bar(d), d->best_order > 0));
    json_t *more =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "copied",
                  number((double)d->repeats.found / (double)d->repeats.tried, d->repeats.tried > 0), "first_loss",
                  metrics_number(d->first.loss), "batch_loss", metrics_number(d->batch.last), "batch_floor",
                  metrics_number(d->batch.floor), "blinded_loss", metrics_number(d->blinded.loss), "symbol_entropy",
                  metrics_number(d->blinded.entropy), "rates", rates_json(&d->sweep), "lr",
                  number(d->sweep.recommended, d->sweep.recommended > 0), "memory_bytes", (json_int_t)d->bytes,
                  "step_seconds", metrics_number(d->cost.step), "run_seconds", metrics_number(d->cost.seconds),
                  "seconds", metrics_number(seconds));
    if (o && more && json_object_update(o, more) == 0) {
        json_decref(more);
        return o;
    }
    json_decref(o);
    json_decref(more);
    return NULL;
}
