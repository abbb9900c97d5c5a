#include "cli/train_plan.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cli/compute.h"
#include "cli/human.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"
#include "train/attention_record.h"
#include "train/rehearsal.h"

#define REHEARSAL_SECONDS 2.0

static bool suited_to_text(const struct options *o)
{
    static const char *const sizes[] = {"n-layer", "n-head", "n-embd", "block-size"};
    bool any = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        any |= options_source(o, sizes[i]) == OPTIONS_PRESET;
    return any;
}

/* "0.09", "2.84", "42.7", "6,400" */
static const char *times(char out[HUMAN_SIZE], double passes)
{
    if (passes < 999.5)
        return human_rate(out, passes);
    return passes < 1e15 ? human_count(out, (uint64_t)(passes + 0.5)) : "?";
}

/* What is about to be done, before any memory for it is taken. */
enum status train_plan_show(struct train_session *s, const struct trainer_settings *settings, struct error *err)
{
    const struct config *c = &s->from.model.config;
    char a[HUMAN_SIZE], b[HUMAN_SIZE], d[HUMAN_SIZE];
    size_t bytes;
    const enum status status = trainer_measure(&bytes, c, settings, err);
    if (status)
        return status;
    const size_t windows = settings->grad_accum * settings->batch_size;
    const char *unit = tokenizer_units(s->from.tokenizer.kind);
    terminal_entry(&s->notes, "text     ", "%s %s, %zu distinct; %s to train on, %s to validate",
                   human_count(a, s->data.count), unit, tokenizer_count(&s->from.tokenizer),
                   human_count(b, s->data.train), human_count(d, s->data.count - s->data.train));
    if (s->data.crlf || s->data.lone_cr)
        terminal_entry(&s->notes, "         ", "line ends: %s CRLF, %s lone CR, %s LF, kept as they are",
                       human_count(a, s->data.crlf), human_count(b, s->data.lone_cr), human_count(d, s->data.lf));
    if (s->data.byte_order_mark)
        terminal_entry(&s->notes, "         ", "it begins with a byte order mark, kept as a character");
    if (s->data.count - s->data.train < 2)
        terminal_entry(&s->notes, "         ", "the validation part has no pair of symbols: validation is left out");
    terminal_entry(&s->notes, "model    ", "%zu layer%s, %zu head%s, %zu channels, context %zu: %s parameters%s",
                   c->n_layer, c->n_layer == 1 ? "" : "s", c->n_head, c->n_head == 1 ? "" : "s", c->n_embd,
                   c->block_size, human_count(a, s->from.model.table.size),
                   s->t->preset == 0 && !s->t->resume && !s->t->init_from && suited_to_text(s->options)
                       ? " (sizes chosen to suit the text)"
                       : "");
    if (c->window && c->trained == ATTENTION_WINDOW)
        terminal_entry(&s->notes, "         ",
                       "attention over a window: each symbol sees the last %zu, itself included", c->window);
    if (s->t->init_from && s->state.leaky)
        terminal_entry(&s->notes, "         ",
                       "it comes from a run trained with a leak, so this run is marked as one too");
    const double passes =
        (double)settings->schedule.steps * (double)windows * (double)c->block_size / (double)s->data.train;
    terminal_entry(&s->notes, "run      ",
                   "%s step%s of %zu window%s of %zu symbols, %s times through the text; learning rate %g to %g, "
                   "dropout %g",
                   human_count(b, settings->schedule.steps), settings->schedule.steps == 1 ? "" : "s", windows,
                   windows == 1 ? "" : "s", c->block_size, times(a, passes), settings->schedule.lr,
                   settings->schedule.min_lr, c->dropout);
    if (s->t->resume)
        terminal_entry(&s->notes, "         ", "going on after step %zu", s->state.step);
    const json_t *before = json_object_get(s->state.settings, "precision");
    const char *precision = compute_precisions[c->precision];
    if (s->t->resume && json_is_string(before) && strcmp(json_string_value(before), precision) != 0)
        terminal_entry(&s->notes, "         ", "in %s from here on; so far it was %s", precision,
                       json_string_value(before));
    else if (c->precision != PRECISION_FP32)
        terminal_entry(&s->notes, "         ", "matrix products in %s: %s", precision,
                       gemm_bf16_kernel(settings->team.isa));
    char library[COMPUTE_LIBRARY_SIZE];
    terminal_entry(&s->notes, "machine  ", "%d thread%s; matrix products: %s (%s build)", settings->team.threads,
                   settings->team.threads == 1 ? "" : "s", compute_library(library), gemm_threading());
    const size_t text = s->data.count * s->data.width, weights = s->from.model.table.size * sizeof(real);
    char all[HUMAN_SIZE];
    terminal_entry(&s->notes, "memory   ", "%s in all: %s of text, %s of weights, %s for training them",
                   human_bytes(all, bytes + text + weights), human_bytes(b, text), human_bytes(d, weights),
                   human_bytes(a, bytes));
    return STATUS_OK;
}

/* What the rehearsal itself held, and files: weights and both moments, all fp32. A file is made in memory first. */
static void show_room(struct train_session *s)
{
    const struct trainer *t = &s->trainer;
    const size_t keep = t->settings.keep;
    char one[HUMAN_SIZE], all[HUMAN_SIZE];
    const double moments = 2.0 * sizeof(float) * (double)t->model->table.size, bytes = 1.5 * moments;
    if (memory_peak() > 0)
        terminal_entry(&s->notes, "memory   ",
                       "%s measured now at the highest, checks and the program itself included; saving takes up to %s "
                       "more for a moment",
                       human_bytes(one, memory_peak()), human_bytes(all, (uint64_t)moments));
    if (keep > 0)
        terminal_entry(&s->notes, "disk     ", "%s a checkpoint; at most %zu of them and one in the making: %s",
                       human_bytes(one, (uint64_t)bytes), keep + 1,
                       human_bytes(all, (uint64_t)(bytes * (double)(keep + 2))));
    else
        terminal_entry(&s->notes, "disk     ", "%s a checkpoint, and all are kept (--keep 0)",
                       human_bytes(one, (uint64_t)bytes));
}

/* The maps of attention that are recorded at each evaluation; the rest of the log is little beside them. */
static void show_log(struct train_session *s)
{
    const struct trainer *t = &s->trainer;
    const size_t one = attention_record_bytes(&t->model->config), interval = t->settings.eval_interval,
                 steps = t->settings.schedule.steps,
                 evaluations = 1 + (interval ? (steps + interval - 1) / interval : 1);
    char each[HUMAN_SIZE], all[HUMAN_SIZE];
    if (one > 0)
        terminal_entry(&s->notes, "         ", "and a log with attention maps for nopeek report, %s an evaluation: %s",
                       human_bytes(each, one), human_bytes(all, (uint64_t)one * evaluations));
}

enum status train_plan_rehearse(struct train_session *s, struct error *err)
{
    const struct trainer *t = &s->trainer;
    struct rehearsal r;
    if (s->notes.live)
        terminal_progress(&s->notes, clock_seconds(), true, "measuring an evaluation and some steps ...");
    const enum status status = rehearsal_run(&r, &s->trainer, REHEARSAL_SECONDS, err);
    if (status)
        return status;
    const size_t tokens = r.steps * t->settings.batch_size * t->settings.grad_accum * t->model->config.block_size;
    char a[HUMAN_SIZE], b[HUMAN_SIZE], c[HUMAN_SIZE], d[HUMAN_SIZE], e[HUMAN_SIZE];
    show_room(s);
    show_log(s);
    if (r.steps == 0)
        terminal_entry(&s->notes, "time     ", "nothing is left to do: the run ends at step %zu",
                       trainer_last_step(&t->settings));
    else
        terminal_entry(&s->notes, "time     ",
                       "about %s: %s steps of %s (the median of %zu, measured now) and %zu evaluation%s of %s; %s "
                       "symbols to train on",
                       human_duration(a, r.seconds), human_count(b, r.steps), human_duration(c, r.step), r.measured,
                       r.evaluations, r.evaluations == 1 ? "" : "s", human_duration(d, r.evaluation),
                       human_rate(e, (double)tokens));
    if (t->settings.max_time > 0 && r.seconds > t->settings.max_time)
        terminal_entry(&s->notes, "         ", "--max-time would end it after %s",
                       human_duration(a, t->settings.max_time));
    return STATUS_OK;
}
