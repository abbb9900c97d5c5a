/* nopeek train: a text in, a run directory out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/compute.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/shell_word.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_plan.h"
#include "cli/train_session.h"
#include "cli/train_view.h"
#include "io/tempdir.h"
#include "store/run.h"
#include "store/run_lock.h"
#include "text/dataset.h"
#include "train/evaluate.h"
#include "train/trainer.h"
#include "train/verify_resume.h"

static void prepare_trainer(struct train_session *s, const struct trainer_settings *settings)
{
    s->trainer.settings = *settings;
    s->trainer.data = &s->data;
    s->trainer.tokenizer = &s->from.tokenizer;
    s->trainer.model = &s->from.model;
    s->trainer.state = &s->state;
    s->trainer.events = train_view_events(&s->view);
}

/* Locked first: what another process saves in it is nobody's to move. */
static enum status create_directory(struct train_session *s, struct error *err)
{
    enum status status = run_make_folder(s->t->out, err);
    if (!status)
        status = run_lock_take(&s->lock, s->t->out, err);
    return status ? status : run_create(s->t->out, s->t->force, err);
}

/* The directory: new, or the resumed one with what an abandoned timeline left moved aside. */
static enum status prepare_directory(struct train_session *s, char **resumed, struct error *err)
{
    *resumed = NULL;
    if (!s->t->resume) {
        s->trainer.dir = s->t->out;
        return create_directory(s, err);
    }
    enum status status = run_of_checkpoint(resumed, s->from.path, err);
    if (status)
        return status;
    s->trainer.dir = *resumed;
    size_t moved;
    status = run_rewind(*resumed, s->state.step, s->state.best_step, &moved, err);
    if (!status && moved)
        terminal_note(&s->notes, "%zu later checkpoint%s moved aside (.old)", moved, moved == 1 ? " was" : "s were");
    return status;
}

/* A full disk shows at the first save; one that is nearly full would show only at a later one. */
static void note_directory(struct train_session *s)
{
    uintmax_t room;
    char left[HUMAN_SIZE], taken[HUMAN_SIZE];
    const size_t needed = s->from.model.table.size * 2 * 3 * sizeof(float); /* weights and two moments */
    if (s->lock.refused_by_system)
        terminal_note(&s->notes, "%s: no locks on its file system: see to it that no other process trains in it",
                      s->trainer.dir);
    if (run_room(&room, s->trainer.dir) && room < needed)
        terminal_note(&s->notes,
                      "%s: its disk has %s left, and saving needs %s: two checkpoints, until the new one is whole",
                      s->trainer.dir, human_bytes(left, (size_t)room), human_bytes(taken, needed));
}

static bool stop_evaluating(void *context, size_t windows_done, size_t windows)
{
    (void)context, (void)windows_done, (void)windows;
    return interrupt_pending();
}

/* The commands are to be copied into a shell. */
static enum status show_next(struct train_session *s, bool best, struct error *err)
{
    char *run = shell_word_make(s->trainer.dir);
    if (!run)
        return fail(err, STATUS_MEMORY, "train: out of memory");
    if (best)
        terminal_note(&s->notes, "next: nopeek generate %s/best (or %s for the last step)", run, run);
    else
        terminal_note(&s->notes, "next: nopeek generate %s; or see how it went: nopeek report %s", run, run);
    free(run);
    return STATUS_OK;
}

/* The exact loss over the validation part, when it costs little beside the training that was done. */
static enum status show_result(struct train_session *s, struct error *err)
{
    struct trainer *t = &s->trainer;
    const struct trainer_settings *settings = &t->settings;
    size_t begin, end;
    dataset_bounds(&s->data, DATASET_VAL, &begin, &end);
    const size_t val = end - begin;
    const double trained = (double)t->state->step * (double)(settings->batch_size * settings->grad_accum) *
                           (double)t->model->config.block_size;
    double last = (double)NAN;
    char count[HUMAN_SIZE], time[HUMAN_SIZE], checks[HUMAN_SIZE];
    if (t->state->step == settings->schedule.steps && val >= 2 && (double)val <= 0.15 * trained) {
        struct evaluation e = {.loss = (double)NAN};
        const struct evaluate_options o = {.T = t->work.T, .stop = stop_evaluating};
        const enum status status = evaluate(&e, t->model, &t->work, &s->data, begin, end, &o, err);
        if (status == STATUS_INTERRUPTED)
            return fail(err, status, "interrupted before the validation loss was known; all %zu steps are saved in %s",
                        t->state->step, t->dir);
        if (status)
            return status;
        last = e.loss;
        printf("validation loss %.4f nats a symbol, %.3f bits (all %s symbols)\n", e.loss, e.loss / log(2),
               human_count(count, e.tokens));
    }
    fflush(stdout);
    terminal_note(&s->notes, "%s after step %zu, %s of training, leak checks %s; best at step %zu",
                  t->state->step >= settings->schedule.steps ? "done" : "stopped", t->state->step,
                  human_duration(time, t->state->seconds), human_duration(checks, t->check_seconds),
                  t->state->best_step == STATE_NO_STEP ? t->state->step : t->state->best_step);
    if (t->state->leaky)
        terminal_note(&s->notes, "this run was trained with a leak: its losses are no measure of it");
    /* Little text or many steps: say so, and where the better weights are. */
    if (last > 1.02 * t->state->best_loss && t->state->best_step != t->state->step) {
        terminal_entry(&s->notes, "",
                       "the validation loss has risen since step %zu (%.4f): the model is learning its text "
                       "by heart",
                       t->state->best_step, t->state->best_loss);
        return show_next(s, true, err);
    }
    return show_next(s, false, err);
}

/* ---- --verify-resume ---- */

#define VERIFY_STEPS 20

static enum status show_verified(const struct train_session *s, const struct verify_resume *v, struct error *err)
{
    const struct trainer_settings *settings = &s->trainer.settings;
    const struct config *c = &s->trainer.model->config;
    char numbers[HUMAN_SIZE];
    if (!v->same)
        return fail(err, STATUS_FORMAT,
                    "resuming is not exact here: steps %zu to %zu straight and in two halves (saved at %zu) differ in "
                    "%s: report it with this machine's processor and this command line",
                    v->first, v->last, v->half, v->difference);
    printf(
        "resuming is exact: steps %zu to %zu straight, and with a save and a fresh start at %zu, gave the same bits: "
        "%s weights and moments, %zu records of loss, gradient and attention (%s, %d thread%s, dropout %g, %zu "
        "micro-batch%s a step)\n",
        v->first, v->last, v->half, human_count(numbers, v->numbers), v->records, compute_precisions[c->precision],
        settings->team.threads, settings->team.threads == 1 ? "" : "s", c->dropout, settings->grad_accum,
        settings->grad_accum == 1 ? "" : "es");
    return STATUS_OK;
}

static void say_nothing(void *context, const struct trainer_eval *e)
{
    (void)context, (void)e;
}

static enum status verify(struct train_session *s, struct error *err)
{
    const struct train_options *t = s->t;
    const char *parent = getenv("TMPDIR");
    const size_t left = t->steps > s->state.step ? t->steps - s->state.step : 0;
    size_t steps = VERIFY_STEPS < left ? VERIFY_STEPS : left;
    if (t->stop_after)
        steps = t->stop_after;
    else if (options_given(s->options, "steps"))
        steps = left;
    if (steps < 2)
        return fail(err, STATUS_USAGE,
                    "--verify-resume needs two steps to halve, %zu given: raise --steps or "
                    "--stop-after",
                    steps);
    char *folder;
    interrupt_catch(); /* so that the folder goes, however this ends */
    enum status status = tempdir_make(&folder, parent && parent[0] ? parent : "/tmp", err);
    if (status)
        return status;
    struct verify_resume v;
    s->trainer.events.eval = say_nothing;
    status = verify_resume(&v, &s->trainer, folder, steps, err);
    terminal_clear(&s->view.err);
    tempdir_remove(folder);
    free(folder);
    if (status == STATUS_INTERRUPTED) /* the run that its message names was in the folder */
        return fail(err, status, "interrupted before the comparison: nothing was proved, and nothing is left behind");
    return status ? status : show_verified(s, &v, err);
}

/* ---- the command ---- */

/* The trainer is ready: memory taken, moments in place, the model checked. */
static enum status prepare(struct train_session *s, struct error *err)
{
    const struct train_options *t = s->t;
    const struct trainer_settings settings = train_options_settings(t);
    enum status status = trainer_check_settings(&settings, err);
    if (!status)
        status = dataset_check(&s->data, s->from.model.config.block_size, err);
    if (!status)
        status = train_plan_show(s, &settings, err);
    if (!status)
        status = train_view_open(&s->view, &s->from.model.config, settings.schedule.steps, err);
    if (status)
        return status;
    json_decref(s->state.settings);
    s->state.settings = options_save(s->options);
    if (!s->state.settings)
        return fail(err, STATUS_MEMORY, "train: the settings were refused memory");
    prepare_trainer(s, &settings);
    status = trainer_create(&s->trainer, err);
    if (status)
        return status;
    if (t->resume) {
        memcpy(s->trainer.optimizer.m, s->from.moments.m, s->from.model.table.size * sizeof(real));
        memcpy(s->trainer.optimizer.v, s->from.moments.v, s->from.model.table.size * sizeof(real));
    }
    status = trainer_check(&s->trainer, err);
    if (!status)
        terminal_entry(&s->notes, "check    ", "%s", s->state.check);
    return status;
}

static enum status train(struct train_session *s, struct error *err)
{
    char *resumed;
    enum status status = prepare_directory(s, &resumed, err);
    interrupt_catch();
    if (!status)
        note_directory(s);
    if (!status)
        status = trainer_run(&s->trainer, err);
    terminal_clear(&s->view.err);
    if (!status)
        status = show_result(s, err);
    free(resumed);
    return status;
}

/* Before anything is read. That somebody trains in a run which is in the way is the more urgent thing to say. */
static enum status check_directory(struct train_session *s, struct error *err)
{
    struct error taken;
    const enum status status = run_may_create(s->t->out, s->t->force, err);
    const enum status locked = status == STATUS_USAGE ? run_lock_take(&s->lock, s->t->out, &taken) : STATUS_OK;
    return locked ? fail(err, locked, "%s", taken.message) : status;
}

static enum status work(struct train_session *s, struct error *err)
{
    const struct train_options *t = s->t;
    if (t->dry_run && t->verify_resume)
        return fail(err, STATUS_USAGE, "--dry-run trains nothing and --verify-resume does: leave one out");
    enum status status = STATUS_OK;
    if (!t->resume && !t->dry_run && !t->verify_resume) /* else nothing is written there */
        status = check_directory(s, err);
    if (!status)
        status = train_session_load(s, err);
    if (!status)
        status = prepare(s, err);
    if (status)
        return status;
    s->trainer.resumed = t->resume != NULL;
    if (t->dry_run)
        return train_plan_rehearse(s, err);
    return t->verify_resume ? verify(s, err) : train(s, err);
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct train_session s = {.options = options, .t = settings};
    terminal_open(&s.notes, s.t->dry_run ? stdout : stderr);
    const enum status status = work(&s, err);
    train_session_free(&s);
    return status;
}

static const struct command_example examples[] = {
    {"Train on a text of your own; sizes are chosen to suit it", "train book.txt -o book"},
    {"nanoGPT's setting for a CPU", "train book.txt -o book --preset nano-cpu"},
    {"Go on after an interruption", "train --resume book"},
    {"What it will take, before it is begun", "train book.txt --preset nano --dry-run"},
    {"See what a missing causal mask does", "train book.txt -o leaky --mask none --allow-leak --steps 600"},
    {NULL, NULL},
};

const struct command cmd_train = {
    .name = "train",
    .group = COMMAND_MAKE,
    .summary = "trains a model on a text",
    .operands = "[TEXT ...]",
    .max_operands = SIZE_MAX,
    .about =
        "Trains a character-level transformer on TEXT (one or more files, or - for standard input) and writes a run "
        "directory: checkpoints that transformers can read as GPT-2 models, and metrics.jsonl with the losses and "
        "the entropy of every attention head.\n"
        "\n"
        "The model is checked for leaks before the first step and at every evaluation; training refuses to start "
        "when a position sees its own future. Every update is watched for attention heads that collapse (a learning "
        "rate "
        "that is too high, before the loss shows it), stay uniform, do nothing or do the same as another: each is said "
        "once, with what one might do, and kept in metrics.jsonl. Ctrl-C finishes the step, saves and exits with "
        "status 130.",
    .options = train_options_table,
    .settings_size = sizeof(struct train_options),
    .examples = examples,
    .run = run,
};
