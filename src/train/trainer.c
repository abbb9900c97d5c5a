#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "diag/batch.h"
#include "diag/decoding.h"
#include "diag/definition.h"
#include "diag/derivative.h"
#include "diag/lossgrad.h"
#include "diag/modes.h"
#include "diag/trunk.h"
#include "diag/windows.h"
#include "store/run.h"
#include "train/attention_record.h"
#include "train/evaluate.h"
#include "train/sample_text.h"
#include "train/writing_loss.h"

enum status trainer_check_settings(const struct trainer_settings *s, struct error *err)
{
    if (s->schedule.steps < 1 || s->schedule.steps > UINT32_MAX)
        return fail(err, STATUS_USAGE, "steps is %zu: choose 1 to %u", s->schedule.steps, UINT32_MAX);
    if (s->batch_size < 1 || s->grad_accum < 1 || s->batch_size > UINT32_MAX / s->grad_accum)
        return fail(err, STATUS_USAGE,
                    "batch-size %zu and grad-accum %zu: both must be at least 1, and their product "
                    "below 2^32",
                    s->batch_size, s->grad_accum);
    if (!(s->beta1 >= 0 && s->beta1 < 1 && s->beta2 >= 0 && s->beta2 < 1))
        return fail(err, STATUS_USAGE, "beta1 is %g and beta2 %g: choose at least 0 and below 1", s->beta1, s->beta2);
    if (!(isfinite(s->weight_decay) && s->weight_decay >= 0))
        return fail(err, STATUS_USAGE, "weight-decay is %g: choose 0 or more", s->weight_decay);
    if (!(isfinite(s->grad_clip) && s->grad_clip >= 0))
        return fail(err, STATUS_USAGE, "grad-clip is %g: choose 0 (off) or more", s->grad_clip);
    return schedule_check(&s->schedule, err);
}

static void layout(struct trainer *t, size_t parameters)
{
    optimizer_layout(&t->optimizer, &t->arena, parameters);
    t->sample = arena_take(&t->arena, t->settings.sample_size * SAMPLE_TEXT_SYMBOL + 1, 1);
}

enum status trainer_measure(size_t *bytes, const struct config *c, const struct trainer_settings *s, struct error *err)
{
    struct params_table table;
    enum status status = params_table_make(&table, c, err);
    if (status)
        return status;
    struct trainer t = {.settings = *s};
    layout(&t, table.size);
    params_table_free(&table);
    status = work_measure(bytes, c, s->batch_size, c->block_size, true, s->team, err);
    if (!status)
        *bytes += t.arena.used;
    return status;
}

enum status trainer_create(struct trainer *t, struct error *err)
{
    const struct config *c = &t->model->config;
    enum status s = trainer_check_settings(&t->settings, err);
    if (!s)
        s = dataset_check(t->data, c->block_size, err);
    if (s)
        return s;
    t->arena = (struct arena){0};
    layout(t, t->model->table.size);
    s = arena_place(&t->arena, err);
    if (s)
        return s;
    layout(t, t->model->table.size);
    s = work_create(&t->work, c, t->settings.batch_size, c->block_size, true, t->settings.team, err);
    if (!s) {
        t->learner = (struct gpt_learner){.model = t->model,
                                          .work = &t->work,
                                          .data = t->data,
                                          .grad_accum = t->settings.grad_accum,
                                          .eval_windows = t->settings.eval_windows,
                                          .seed = t->settings.seed};
        s = gpt_learner_create(&t->learner, err);
    }
    if (s)
        trainer_free(t);
    return s;
}

void trainer_free(struct trainer *t)
{
    struct error ignored;
    (void)metrics_close(&t->metrics, &ignored);
    run_hold_release(&t->hold);
    gpt_learner_free(&t->learner);
    work_free(&t->work);
    arena_free(&t->arena);
}

static enum status leak_error(const struct trainer *t, struct error *err)
{
    char what[sizeof err->message - 160];
    leak_describe(what, sizeof what, &t->leak);
    return fail(err, STATUS_LEAK,
                "%s. Predictions would see what they predict: mend the mask; to train all the same, as a "
                "demonstration, add --allow-leak",
                what);
}

/* Whether the first window of a batch goes through operations that are what their formulas say. */
static enum status check_definitions(struct verdict *v, struct trainer *t, struct error *err)
{
    struct definition_report *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "leak check: out of memory");
    const struct gpt_pass pass = {.training = true, .seed = t->settings.seed, .step = 3, .first_row = 5};
    gpt_forward(t->model, &t->work, t->learner.tokens, t->work.B, t->work.T, &pass);
    const enum status s = definition_check(r, t->model, &t->work, t->learner.tokens, t->work.T, 0, &pass, err);
    if (!s && r->places > 0)
        verdict_find(v, "definition", "%s is not what its formula says%s%s", r->place[0].operation,
                     r->place[0].reads ? ": it acts " : "", r->place[0].reads ? r->place[0].reads : "");
    free(r);
    return s;
}

/* What the leak check does not look at. A model that sees the future is not what its formulas say, and is left out of
 * what compares with them. */
static enum status look_around(struct verdict *v, struct trainer *t, struct error *err)
{
    const uint64_t seed = t->settings.seed;
    const size_t T = t->work.T;
    for (size_t b = 0; b < t->work.B; b++)
        dataset_window(t->data, t->learner.tokens + b * T, t->learner.targets + b * T,
                       dataset_draw(t->data, T, seed, 0, (uint32_t)b), T);
    enum status s = windows_check(v, t->data, T, seed, err);
    if (!s && T == 1) /* longer windows are changed at other places in every row: the leak check sees a mixed batch */
        s = batch_check(v, t->model, &t->work, seed, err);
    if (!s)
        s = decoding_check(v, t->model, &t->work, 8, seed, err);
    if (!s)
        s = lossgrad_check(v, t->model, &t->work, t->learner.tokens, t->learner.targets, err);
    if (s || t->leak.leak)
        return s;
    s = check_definitions(v, t, err);
    if (!s)
        s = derivative_check(v, t->model, &t->work, NULL, seed, err);
    if (!s)
        s = trunk_check(v, t->model, &t->work, seed, err);
    if (!s)
        s = modes_check(v, t->model, &t->work, t->learner.tokens, seed, err);
    return s;
}

/* What is found takes the place of `words`. */
static enum status check_surroundings(struct trainer *t, char *words, size_t size, struct error *err)
{
    struct verdict *v = calloc(1, sizeof *v);
    if (!v)
        return fail(err, STATUS_MEMORY, "leak check: out of memory");
    enum status s = look_around(v, t, err);
    if (!s && v->findings > 0) {
        t->state->leaky = true;
        snprintf(words, size, "leak: %s: %s", v->finding[0].detector, v->finding[0].what);
        if (!t->settings.allow_leak)
            s = fail(err, STATUS_LEAK,
                     "%s. What this model's losses would say is not to be trusted; to train all the same, as a "
                     "demonstration, add --allow-leak",
                     words);
    }
    free(v);
    return s;
}

static enum status check_all(struct trainer *t, struct error *err)
{
    enum status s =
        leak_check(&t->leak, t->model, &t->work, LEAK_FULL, t->settings.seed, (uint32_t)t->state->step, err);
    if (s)
        return s;
    if (t->leak.leak && !t->settings.allow_leak)
        return leak_error(t, err);
    t->state->leaky |= t->leak.leak;
    char verdict[sizeof err->message];
    leak_describe(verdict, sizeof verdict, &t->leak);
    s = check_surroundings(t, verdict, sizeof verdict, err);
    return s ? s : state_set_check(t->state, verdict, err);
}

enum status trainer_check(struct trainer *t, struct error *err)
{
    const double start = clock_seconds();
    const enum status s = check_all(t, err);
    t->check_seconds += clock_seconds() - start;
    return s;
}

static enum status diverged(const struct trainer *t, size_t step, const char *what, struct error *err)
{
    return fail(err, STATUS_NONFINITE,
                "step %zu: %s; training stopped, the checkpoint of step %zu is kept: lower --lr (now %g), lengthen "
                "--warmup, or set --grad-clip",
                step, what, t->saved, schedule_rate(&t->settings.schedule, step - 1));
}

enum status trainer_update(struct trainer *t, const struct learner *learner, struct trainer_step *r, struct error *err)
{
    const struct trainer_settings *s = &t->settings;
    real *params;
    const struct params_table *table = learner->parameters(learner->self, &params);
    optimizer_zero_grads(&t->optimizer, table->size);
    r->loss = learner->loss_and_gradient(learner->self, t->state->step, t->optimizer.grads);
    r->grad_norm = optimizer_grad_norm(&t->optimizer, table->size, s->team);
    r->lr = schedule_rate(&s->schedule, t->state->step);
    if (!isfinite(r->loss) || !isfinite(r->grad_norm)) {
        char what[128]; /* both are 0 or more; fabs takes the sign that a NaN may carry */
        snprintf(what, sizeof what, "the %s is not finite (loss %g, gradient norm %g)",
                 isfinite(r->loss) ? "gradient" : "loss", fabs(r->loss), fabs(r->grad_norm));
        return diverged(t, t->state->step + 1, what, err);
    }
    const struct optimizer_step step = {.lr = r->lr,
                                        .beta1 = s->beta1,
                                        .beta2 = s->beta2,
                                        .weight_decay = s->weight_decay,
                                        .grad_norm = r->grad_norm,
                                        .grad_clip = s->grad_clip,
                                        .number = t->state->step + 1};
    optimizer_update(&t->optimizer, params, table, &step, s->team);
    t->state->step++;
    r->step = t->state->step;
    return STATUS_OK;
}

static enum status log_step(struct trainer *t, const struct trainer_step *r, struct error *err)
{
    const struct config *c = &t->model->config;
    json_t *record = metrics_record("step", r->step);
    metrics_put(&record, "loss", r->loss);
    metrics_put(&record, "lr", r->lr);
    metrics_put(&record, "grad_norm", r->grad_norm);
    metrics_put(&record, "tokens_per_s", r->tokens_per_s);
    metrics_put_grid(&record, "entropy", t->learner.entropy, c->n_layer, c->n_head);
    metrics_put_grid(&record, "max_score", t->learner.max_score, c->n_layer, c->n_head);
    return metrics_append(&t->metrics, record, err);
}

static enum status log_eval(struct trainer *t, const struct trainer_eval *e, struct error *err)
{
    struct generation writing;
    const enum status s = writing_loss(&writing, t->model, &t->work, t->data, err);
    if (s)
        return s;
    json_t *record = metrics_record("eval", e->step);
    metrics_put(&record, "train_loss", e->train_loss);
    metrics_put(&record, "val_loss", e->val_loss);
    metrics_put(&record, "generation_loss", writing.loss);
    metrics_put(&record, "generation_parallel", writing.parallel);
    metrics_put_text(&record, "check", t->state->check, strlen(t->state->check));
    metrics_put_text(&record, "sample", e->sample, e->sample_bytes);
    return metrics_append(&t->metrics, record, err);
}

/* What every head looks at in the same short text each time, so that it can be seen changing. */
static enum status log_attention(struct trainer *t, struct error *err)
{
    json_t *record;
    struct error why;
    const enum status s =
        attention_record_make(&record, t->model, t->tokenizer, t->data, t->state->step, t->settings.team, &why);
    if (s == STATUS_RANGE || s == STATUS_NONFINITE) { /* a picture is missing; training goes on */
        t->events.note(t->events.context, why.message);
        return STATUS_OK;
    }
    if (s)
        *err = why;
    return s || !record ? s : metrics_append(&t->metrics, record, err);
}

static enum status tell_of_heads(struct trainer *t, struct error *err)
{
    return watching_tell(&t->watching, &t->metrics, t->events.note, t->events.context, err);
}

static bool all_finite(const real *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* What an update left is only seen by the next loss: a save must not come between, and put weights that are of no use
 * in the place of good ones. */
static enum status check_before_saving(struct trainer *t, struct error *err)
{
    const size_t size = t->model->table.size, step = t->state->step;
    if (!all_finite(t->model->params, size) || !all_finite(t->optimizer.m, size) || !all_finite(t->optimizer.v, size))
        return diverged(t, step, "its update left weights or moments that are not finite", err);
    struct evaluation e = {.loss = (double)NAN};
    const struct evaluate_options one = {.T = t->work.T, .max_windows = 1};
    const enum status s = evaluate(&e, t->model, &t->work, t->data, 0, t->data->train, &one, err);
    return s == STATUS_NONFINITE ? diverged(t, step, "the weights after its update give no finite loss", err) : s;
}

/* Worse than knowing nothing, once the warm-up is over. */
static void note_plateau(const struct trainer *t, double train_loss)
{
    const size_t V = t->model->config.vocab_size;
    const double uniform = log((double)V);
    char line[160];
    if (t->state->step <= t->settings.schedule.warmup || !(train_loss > uniform))
        return;
    snprintf(line, sizeof line,
             "the training loss is above ln %zu = %.4f, what guessing uniformly gives: lower --lr or lengthen --warmup",
             V, uniform);
    t->events.note(t->events.context, line);
}

static enum status evaluate_now(struct trainer *t, const struct learner *learner, bool attention_known,
                                struct error *err)
{
    struct state *state = t->state;
    struct trainer_eval e = {.step = state->step, .leak = &t->leak, .sample = t->sample};
    enum status s = learner->evaluate(learner->self, DATASET_TRAIN, &e.train_loss, err);
    if (!s)
        s = learner->evaluate(learner->self, DATASET_VAL, &e.val_loss, err);
    const double start = clock_seconds();
    if (!s)
        s = leak_check(&t->leak, t->model, &t->work, LEAK_QUICK, t->settings.seed, (uint32_t)state->step, err);
    t->check_seconds += clock_seconds() - start;
    if (s == STATUS_NONFINITE && state->step > 0)
        s = diverged(t, state->step, "the weights after its update give no finite loss", err);
    if (!s && t->leak.leak && !t->settings.allow_leak)
        s = leak_error(t, err);
    if (s)
        return s;
    state->leaky |= t->leak.leak;
    char verdict[sizeof err->message];
    leak_describe(verdict, sizeof verdict, &t->leak);
    s = state_set_check(state, verdict, err);
    if (!s)
        s = sample_text(t->sample, &e.sample_bytes, t->model, t->tokenizer, t->settings.sample_size, t->settings.seed,
                        t->settings.team, err);
    if (s)
        return s;
    e.best = e.val_loss < state->best_loss || (isnan(state->best_loss) && !isnan(e.val_loss));
    if (e.best) {
        state->best_loss = e.val_loss;
        state->best_step = state->step;
    }
    if (attention_known) {
        e.entropy = t->learner.entropy;
        e.max_score = t->learner.max_score;
    }
    s = log_eval(t, &e, err);
    if (!s)
        s = log_attention(t, err);
    if (s)
        return s;
    t->events.eval(t->events.context, &e);
    note_plateau(t, e.train_loss);
    if (attention_known)
        s = watching_maps(&t->watching, &t->learner, state->step, err);
    return s || !attention_known ? s : tell_of_heads(t, err);
}

static enum status save(struct trainer *t, struct error *err)
{
    struct state *state = t->state;
    enum status s = check_before_saving(t, err);
    if (!s)
        s = run_hold_check(&t->hold, t->dir, err);
    if (!s)
        s = metrics_sync(&t->metrics, err);
    if (s)
        return s;
    state->seconds = t->seconds_before + clock_seconds() - t->started;
    json_t *json = state_to_json(state);
    if (!json)
        return fail(err, STATUS_MEMORY, "the run's state was refused memory");
    const struct checkpoint_moments moments = {t->optimizer.m, t->optimizer.v};
    s = checkpoint_write(t->dir, state->step, t->model, t->tokenizer, &moments, json, err);
    json_decref(json);
    if (!s)
        s = run_link(t->dir, state->step, state->best_step, err);
    if (!s)
        s = run_prune(t->dir, t->settings.keep, state->step, state->best_step, err);
    if (!s)
        t->saved = state->step;
    if (!s)
        t->events.saved(t->events.context, state->step, t->dir);
    return s;
}

/* Rate since the last report, and the time that is left at that rate. */
struct rate {
    double since;
    size_t step;
};

static void measure_rate(const struct trainer *t, struct trainer_step *r, struct rate *rate, size_t end)
{
    const double now = clock_seconds(), passed = now - rate->since;
    const double tokens = (double)(t->settings.batch_size * t->settings.grad_accum * t->model->config.block_size);
    const double steps = (double)(r->step - rate->step);
    r->tokens_per_s = passed > 0 ? steps * tokens / passed : 0;
    r->seconds_left = steps > 0 ? passed / steps * (double)(end - r->step) : 0;
}

static bool due(size_t step, size_t interval)
{
    return interval > 0 && step % interval == 0;
}

bool trainer_evaluates(const struct trainer_settings *s, size_t step)
{
    return due(step, s->eval_interval) || step == s->schedule.steps;
}

size_t trainer_last_step(const struct trainer_settings *s)
{
    return s->stop_after && s->stop_after < s->schedule.steps ? s->stop_after : s->schedule.steps;
}

static enum status loop(struct trainer *t, const struct learner *learner, size_t end, struct error *err)
{
    const struct trainer_settings *s = &t->settings;
    struct state *state = t->state;
    struct rate rate = {clock_seconds(), state->step};
    while (state->step < end) {
        struct trainer_step r = {0};
        enum status status = trainer_update(t, learner, &r, err);
        if (status)
            return status;
        r.logged = r.step == 1 || due(r.step, s->log_interval) || r.step == s->schedule.steps;
        measure_rate(t, &r, &rate, end);
        const bool eval_due = trainer_evaluates(s, r.step);
        gpt_learner_attention(&t->learner);
        if (r.logged)
            status = log_step(t, &r, err);
        watching_step(&t->watching, &t->learner, r.step, r.loss, r.lr);
        if (!status)
            status = tell_of_heads(t, err);
        if (status)
            return status;
        t->events.step(t->events.context, &r);
        if (r.logged)
            rate = (struct rate){clock_seconds(), r.step};
        const bool stop = t->events.interrupted(t->events.context);
        const bool late = s->max_time > 0 && r.step < end && clock_seconds() - t->started >= s->max_time;
        if (eval_due) {
            status = evaluate_now(t, learner, true, err);
            if (status)
                return status;
        }
        if (eval_due || due(r.step, s->save_every) || r.step == end || stop || late) {
            status = save(t, err);
            if (status)
                return status;
            rate = (struct rate){clock_seconds(), r.step}; /* the time of evaluating and saving is not training's */
        }
        if (stop)
            return fail(err, STATUS_INTERRUPTED,
                        "interrupted after step %zu, which is saved: go on with nopeek train --resume %s", r.step,
                        t->dir);
        if (late) {
            t->events.note(t->events.context, "the time is up (--max-time): saved and stopped");
            break;
        }
    }
    return STATUS_OK;
}

static void note_log_aside(const struct trainer *t)
{
    struct error line;
    fail(&line, STATUS_OK,
         "line %zu of " METRICS_FILE " is no record (%zu such lines): the log as it was is %s now, and its "
         "sound records go on in " METRICS_FILE,
         t->metrics.first_unsound, t->metrics.unsound, t->metrics.aside);
    t->events.note(t->events.context, line.message);
}

enum status trainer_run(struct trainer *t, struct error *err)
{
    const struct trainer_settings *s = &t->settings;
    const struct learner learner = gpt_learner_interface(&t->learner);
    const size_t first = t->state->step;
    t->started = clock_seconds();
    t->seconds_before = t->state->seconds;
    t->saved = first;
    enum status status = run_hold_take(&t->hold, t->dir, err);
    if (!status)
        status = metrics_open(&t->metrics, t->dir, t->resumed ? (long long)first : -1, err);
    if (!status && t->metrics.aside)
        note_log_aside(t);
    if (!status)
        status = watching_open(&t->watching, t->model, err);
    if (!status && t->resumed)
        status = watching_recall(&t->watching, t->dir, err);
    if (!status && !t->resumed)
        status = evaluate_now(t, &learner, false, err);
    if (!status && !t->resumed)
        status = save(t, err); /* the early write test: a full disk shows now, not in an hour */
    const size_t end = trainer_last_step(s);
    if (!status && first >= end) {
        char line[160];
        snprintf(line, sizeof line,
                 "nothing to do: step %zu is done and the run ends at step %zu (--steps, --stop-after)", first, end);
        t->events.note(t->events.context, line);
    }
    if (!status)
        status = loop(t, &learner, end, err);
    watching_close(&t->watching);
    struct error closing;
    const enum status closed = metrics_close(&t->metrics, &closing);
    if (!status && closed) {
        *err = closing;
        status = closed;
    }
    return status;
}
