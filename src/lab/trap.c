#include "lab/trap.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "diag/detect.h"
#include "diag/generation.h"
#include "train/sample_text.h"

static const char *side_name(enum trap_side side)
{
    return side == TRAP_RIGHT ? "right" : "leaky";
}

static enum status unknown_fault(const char *name, struct error *err)
{
    char names[640] = "";
    for (size_t i = 0; i < catalogue_size; i++) {
        const size_t used = strlen(names);
        if (catalogue[i].trains)
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", catalogue[i].name);
    }
    return fail(err, STATUS_USAGE, "--fault: found \"%.60s\", expected one of %s", name, names);
}

enum status trap_fault(const struct catalogue_entry **fault, const char *name, const struct config *c,
                       size_t batch_size, struct error *err)
{
    const struct catalogue_entry *e = catalogue_find(name);
    if (!e)
        return unknown_fault(name, err);
    if (!e->trains)
        return fail(err, STATUS_USAGE, "--fault %s (%s) shows only while writing: nothing can be trained with it", name,
                    e->says);
    if (e->needs_dropout && c->dropout == 0)
        return fail(err, STATUS_USAGE, "--fault %s (%s) needs dropout: add --dropout 0.1", name, e->says);
    if (e->needs_window && c->declared != ATTENTION_WINDOW)
        return fail(err, STATUS_USAGE, "--fault %s (%s) needs attention over a window: add --window 16", name, e->says);
    const struct {
        size_t found, least;
        const char *what;
    } needs[] = {{c->n_layer, e->least_layers, "--n-layer"},
                 {c->block_size, e->least_length, "--block-size"},
                 {batch_size, e->least_batch, "--batch-size"}};
    for (size_t k = 0; k < 3; k++)
        if (needs[k].found < needs[k].least)
            return fail(err, STATUS_USAGE, "--fault %s (%s) does not show with %s %zu: choose at least %zu", name,
                        e->says, needs[k].what, needs[k].found, needs[k].least);
    *fault = e;
    return STATUS_OK;
}

/* --- making the twins --------------------------------------------------------------------------- */

static size_t heads_of(const struct trap *t)
{
    return t->settings.config.n_layer * t->settings.config.n_head;
}

/* Evaluations of a whole run: before the first step, at every interval, and after the last. */
static size_t points_of(const struct trap_settings *s)
{
    const size_t steps = s->schedule.steps;
    return 2 + (s->eval_interval ? (steps - 1) / s->eval_interval : 0);
}

static enum status check(struct trap *t, struct error *err)
{
    struct trap_settings *s = &t->settings;
    const size_t T = s->config.block_size;
    enum status status = schedule_check(&s->schedule, err);
    if (!status)
        status = dataset_check(t->data, T, err);
    if (status)
        return status;
    const size_t val = t->data->count - t->data->train;
    if (val < T + 1)
        return fail(err, STATUS_RANGE,
                    "the validation part of the text has %zu symbols, expected at least %zu (a window of the context "
                    "and its last target): choose a longer TEXT, a larger --val-split or a smaller --block-size",
                    val, T + 1);
    const size_t there_are = (val - 1) / T;
    t->windows = s->eval_windows < there_are ? s->eval_windows : there_are;
    t->snippet = T < TRAP_SNIPPET ? T : TRAP_SNIPPET;
    size_t numbers;
    if (!checked_mul(&numbers, points_of(s), heads_of(t) * 2 * TRAP_SIDES * sizeof(double)))
        return fail(err, STATUS_RANGE, "%zu evaluations are more than can be kept: choose a larger --eval-interval",
                    points_of(s));
    return STATUS_OK;
}

/* The points' numbers are one block: entropy and future mass of every twin at every point. */
static void layout(struct trap *t)
{
    struct arena *a = &t->arena;
    const size_t points = points_of(&t->settings), heads = heads_of(t), T = t->settings.config.block_size;
    t->point = arena_take(a, points, sizeof *t->point);
    double *numbers = arena_take(a, points * 2 * TRAP_SIDES * heads, sizeof *numbers);
    for (size_t p = 0; numbers && p < points; p++)
        for (size_t side = 0; side < TRAP_SIDES; side++) {
            t->point[p].look[side].entropy = numbers;
            t->point[p].look[side].future = numbers + heads;
            numbers += 2 * heads;
        }
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        struct trap_twin *twin = &t->twin[side];
        optimizer_layout(&twin->optimizer, a, twin->model.table.size);
        twin->tokens = arena_take(a, t->windows * T, sizeof *twin->tokens);
        twin->targets = arena_take(a, t->windows * T, sizeof *twin->targets);
        twin->sample = arena_take(a, t->settings.sample_size * SAMPLE_TEXT_SYMBOL + 1, 1);
        twin->maps = arena_take(a, heads * t->snippet * t->snippet, sizeof *twin->maps);
    }
}

/* Validation windows, evenly spread, none overlapping another, as the twin reads them. */
static void read_windows(const struct trap *t, struct trap_twin *twin)
{
    size_t begin, end;
    dataset_bounds(&twin->data, DATASET_VAL, &begin, &end);
    const size_t T = t->settings.config.block_size, room = end - begin - T - 1;
    for (size_t k = 0; k < t->windows; k++)
        dataset_window(&twin->data, twin->tokens + k * T, twin->targets + k * T,
                       begin + (t->windows > 1 ? k * room / (t->windows - 1) : 0), T);
}

static enum status make_twin(struct trap *t, enum trap_side side, struct error *err)
{
    struct trap_twin *twin = &t->twin[side];
    const struct trap_settings *s = &t->settings;
    const enum status status = gpt_create(&twin->model, &s->config, err);
    if (status)
        return status;
    params_init(twin->model.params, &twin->model.table, &s->config, s->seed);
    twin->data = *t->data;
    if (side == TRAP_LEAKY)
        catalogue_plant(&t->fault, &twin->model, &twin->data, s->fault, FAULT_EVERYWHERE, FAULT_EVERYWHERE);
    twin->learner = (struct gpt_learner){.model = &twin->model,
                                         .work = &t->work,
                                         .data = &twin->data,
                                         .grad_accum = 1,
                                         .eval_windows = t->windows,
                                         .seed = s->seed};
    return STATUS_OK;
}

static enum status create(struct trap *t, struct error *err)
{
    const struct trap_settings *s = &t->settings;
    enum status status = check(t, err);
    for (size_t side = 0; !status && side < TRAP_SIDES; side++)
        status = make_twin(t, (enum trap_side)side, err);
    if (status)
        return status;
    layout(t);
    status = arena_place(&t->arena, err);
    if (status)
        return status;
    layout(t);
    status = work_create(&t->work, &s->config, s->batch_size, s->config.block_size, true, s->team, err);
    if (!status)
        status = work_keep_weights(&t->work, &s->config, err);
    for (size_t side = 0; !status && side < TRAP_SIDES; side++) {
        read_windows(t, &t->twin[side]);
        status = gpt_learner_create(&t->twin[side].learner, err);
    }
    return status;
}

enum status trap_create(struct trap *t, struct error *err)
{
    const enum status status = create(t, err);
    if (status)
        trap_free(t);
    t->fooled_at = TRAP_NEVER;
    return status;
}

void trap_free(struct trap *t)
{
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        gpt_learner_free(&t->twin[side].learner);
        gpt_free(&t->twin[side].model);
    }
    work_free(&t->work);
    arena_free(&t->arena);
}

/* --- looking at them ---------------------------------------------------------------------------- */

/* Entropy and future mass of every head over the first validation windows. */
static void watch_heads(struct trap *t, const struct trap_twin *twin, struct trap_look *look)
{
    const size_t T = t->settings.config.block_size, H = t->settings.config.n_head;
    const size_t B = t->windows < t->work.B ? t->windows : t->work.B;
    double *unused = twin->learner.max_score;
    gpt_forward(&twin->model, &t->work, twin->tokens, B, T, &gpt_textbook);
    gpt_attention_summary(look->entropy, unused, &twin->model, &t->work, B, T);
    for (size_t head = 0; head < heads_of(t); head++) {
        double sum = 0;
        for (size_t b = 0; b < B; b++) {
            const real *p = t->work.block[head / H].weights + (b * H + head % H) * T * T;
            for (size_t i = 0; i < T; i++)
                for (size_t j = i + 1; j < T; j++)
                    sum += (double)p[i * T + j];
        }
        look->future[head] = sum / (double)(B * T);
    }
}

/* What each head looks at in the snippet, which stands alone: its future ends where it does. */
static void draw_maps(struct trap *t, struct trap_twin *twin)
{
    const size_t S = t->snippet, H = t->settings.config.n_head;
    gpt_forward(&twin->model, &t->work, twin->tokens, 1, S, &gpt_textbook);
    for (size_t head = 0; head < heads_of(t); head++) {
        const real *p = t->work.block[head / H].weights + head % H * S * S;
        for (size_t i = 0; i < S * S; i++)
            twin->maps[head * S * S + i] = (double)p[i];
    }
}

/* Losses on the validation windows. What the twin reads for its validation loss is what it takes for the text; its
 * writing is held against the text as it is, which is what the right twin reads. */
static enum status measure_losses(struct trap *t, const struct trap_twin *twin, struct trap_look *look,
                                  struct error *err)
{
    const struct trap_twin *truth = &t->twin[TRAP_RIGHT];
    const size_t T = t->settings.config.block_size;
    struct generation own, g;
    enum status status = generation_loss(&own, &twin->model, &t->work, twin->tokens, twin->targets, t->windows, T, err);
    g = own;
    if (!status && twin->data.fault != DATASET_FAULT_NONE)
        status = generation_loss(&g, &twin->model, &t->work, truth->tokens, truth->targets, t->windows, T, err);
    if (status)
        return status;
    look->val_loss = own.parallel;
    look->generation_loss = g.loss;
    return STATUS_OK;
}

/* All detectors take as long as a hundred steps, so they come once: at the end, when the weights are large enough for
 * every fault to show. */
static bool stop_detecting(void *context, const char *detector, size_t done, size_t total)
{
    (void)detector, (void)done, (void)total;
    const struct trap *t = context;
    return t->events.interrupted(t->events.context);
}

static enum status detect(struct trap *t, struct trap_twin *twin, bool quick, struct error *err)
{
    const struct detect d = {.g = &twin->model,
                             .w = &t->work,
                             .data = &twin->data,
                             .tokenizer = t->tokenizer,
                             .seed = t->settings.seed,
                             .stop = stop_detecting,
                             .context = t,
                             .quick = quick};
    const enum status status = detect_run(&twin->verdict, &d, err);
    for (size_t i = 0; !status && i < twin->verdict.lines; i++) {
        const struct verdict_line *line = &twin->verdict.line[i];
        size_t known = 0;
        while (known < twin->catches && strcmp(twin->caught[known].detector, line->detector) != 0)
            known++;
        if (line->outcome == VERDICT_FOUND && known == twin->catches)
            twin->caught[twin->catches++] = (struct trap_catch){line->detector, t->step};
    }
    return status;
}

#define SHORT_SAMPLE 40

static enum status look_at(struct trap *t, enum trap_side side, struct trap_look *look, struct error *err)
{
    struct trap_twin *twin = &t->twin[side];
    const struct trap_settings *s = &t->settings;
    const struct learner learner = gpt_learner_interface(&twin->learner);
    enum status status = learner.evaluate(learner.self, DATASET_TRAIN, &look->train_loss, err);
    if (!status)
        status = measure_losses(t, twin, look, err);
    if (status)
        return status;
    watch_heads(t, twin, look);
    const bool last = t->step == s->schedule.steps;
    if (t->step == 0 || last)
        status = detect(t, twin, !last, err);
    if (status)
        return status;
    /* On the way a line will do. */
    const size_t length = !last && s->sample_size > SHORT_SAMPLE ? SHORT_SAMPLE : s->sample_size;
    return sample_text(twin->sample, &twin->sample_bytes, &twin->model, t->tokenizer, length, s->seed, s->team, err);
}

static enum status look_at_both(struct trap *t, struct error *err)
{
    struct trap_point *p = &t->point[t->points];
    p->step = t->step;
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        const enum status status = look_at(t, (enum trap_side)side, &p->look[side], err);
        if (status)
            return fail_within(err, status, "step %zu, the %s twin", t->step, side_name((enum trap_side)side));
    }
    const struct trap_look *right = &p->look[TRAP_RIGHT], *leaky = &p->look[TRAP_LEAKY];
    if (t->fooled_at == TRAP_NEVER && t->step > 0 && leaky->val_loss < right->val_loss &&
        leaky->generation_loss > right->generation_loss)
        t->fooled_at = t->step;
    t->points++;
    t->events.look(t->events.context, t);
    return STATUS_OK;
}

/* --- training them ------------------------------------------------------------------------------ */

static enum status update(struct trap *t, enum trap_side side, struct error *err)
{
    const struct trap_settings *s = &t->settings;
    struct trap_twin *twin = &t->twin[side];
    const struct learner learner = gpt_learner_interface(&twin->learner);
    const struct params_table *table = &twin->model.table;
    optimizer_zero_grads(&twin->optimizer, table->size);
    twin->loss = learner.loss_and_gradient(learner.self, t->step, twin->optimizer.grads);
    const struct optimizer_step step = {.lr = schedule_rate(&s->schedule, t->step),
                                        .beta1 = s->beta1,
                                        .beta2 = s->beta2,
                                        .weight_decay = s->weight_decay,
                                        .grad_norm = optimizer_grad_norm(&twin->optimizer, table->size, s->team),
                                        .grad_clip = s->grad_clip,
                                        .number = t->step + 1};
    if (!isfinite(twin->loss) || !isfinite(step.grad_norm))
        return fail(err, STATUS_NONFINITE,
                    "step %zu: the loss or the gradient of the %s twin is not finite: lower --lr (now %g)", t->step + 1,
                    side_name(side), step.lr);
    optimizer_update(&twin->optimizer, twin->model.params, table, &step, s->team);
    return STATUS_OK;
}

static enum status train(struct trap *t, struct error *err)
{
    const struct trap_settings *s = &t->settings;
    enum status status = look_at_both(t, err);
    while (!status && t->step < s->schedule.steps) {
        for (size_t side = 0; !status && side < TRAP_SIDES; side++)
            status = update(t, (enum trap_side)side, err);
        if (status)
            return status;
        t->step++;
        t->events.step(t->events.context, t);
        if (t->events.interrupted(t->events.context))
            return fail(err, STATUS_INTERRUPTED, "interrupted after step %zu of %zu: nothing was written", t->step,
                        s->schedule.steps);
        if (t->step == s->schedule.steps || (s->eval_interval && t->step % s->eval_interval == 0))
            status = look_at_both(t, err);
    }
    return status;
}

enum status trap_run(struct trap *t, struct error *err)
{
    assert(t->points == 0);
    const double began = clock_seconds();
    const enum status status = train(t, err);
    for (size_t side = 0; !status && side < TRAP_SIDES; side++)
        draw_maps(t, &t->twin[side]);
    t->seconds = clock_seconds() - began;
    return status;
}
