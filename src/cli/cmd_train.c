/* nopeek train: a text in, a run directory out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/reading.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_view.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"
#include "store/run.h"
#include "text/dataset.h"
#include "train/evaluate.h"
#include "train/trainer.h"

/* Everything a run holds, released in one place. */
struct session {
    struct options *options;
    struct train_options *t;
    struct checkpoint from; /* of --resume or --init-from; the model and tokenizer live here in any case */
    struct dataset data;
    struct state state;
    struct trainer trainer;
    struct train_view view;
    struct terminal notes;
};

static void session_free(struct session *s)
{
    train_view_close(&s->view);
    trainer_free(&s->trainer);
    state_free(&s->state);
    dataset_free(&s->data);
    checkpoint_free(&s->from);
}

/* Settings that make a model and its data what they are: a resumed run cannot change them. */
static const char *const FIXED[] = {"n_layer", "n_head",    "n_embd",     "block_size", "window",
                                    "dropout", "bias",      "tied",       "mask",       "tokens",
                                    "seed",    "val_split", "batch_size", "grad_accum", NULL};

static enum status check_fixed(const struct options *o, const json_t *saved, const char *run, struct error *err)
{
    json_t *now = options_save(o);
    if (!now)
        return fail(err, STATUS_MEMORY, "train: the settings were refused memory");
    char differences[512] = "";
    for (size_t i = 0; FIXED[i]; i++) {
        const json_t *a = json_object_get(now, FIXED[i]), *b = json_object_get(saved, FIXED[i]);
        /* a run saved before there was such a setting has none */
        if (json_equal(a, b) || (!b && json_is_integer(a) && json_integer_value(a) == 0))
            continue;
        char *given = json_dumps(a, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)),
             *was = json_dumps(b, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        const size_t used = strlen(differences);
        snprintf(differences + used, sizeof differences - used, "%s%s is %s there and %s here", used ? ", " : "",
                 FIXED[i], was ? was : "unset", given ? given : "unset");
        free(given);
        free(was);
    }
    json_decref(now);
    if (differences[0])
        return fail(err, STATUS_USAGE,
                    "%s cannot be resumed with other settings: %s; leave those options out, or begin a new run with "
                    "--init-from",
                    run, differences);
    return STATUS_OK;
}

/* Reads the checkpoint to go on from; its settings stand where none were given. */
static enum status load_resumed(struct session *s, struct error *err)
{
    if (options_given(s->options, "out") || options_given(s->options, "init-from") ||
        options_given(s->options, "preset") || options_given(s->options, "force"))
        return fail(err, STATUS_USAGE,
                    "--resume goes on in the same run: leave out -o, --init-from, --preset and "
                    "--force");
    char *folder;
    enum status status = run_find(&folder, s->t->resume, err);
    if (status)
        return status;
    status = checkpoint_read(&s->from, folder, true, err);
    free(folder);
    if (status)
        return status;
    if (!s->from.state)
        return fail(err, STATUS_FORMAT,
                    "%s has no trainer_state.json: it cannot be resumed; start a new run from it "
                    "with --init-from",
                    s->from.path);
    char *run = run_of_checkpoint(s->from.path);
    const bool in_run = run != NULL;
    free(run);
    if (!in_run)
        return fail(err, STATUS_USAGE, "%s is not a checkpoint of a run directory (step-NNNNNN): use --init-from",
                    s->from.path);
    status = state_from_json(&s->state, s->from.state, s->from.path, err);
    if (status)
        return status;
    status = options_load(s->options, s->state.settings, OPTIONS_SAVED, s->from.path, err);
    if (!status)
        status = check_fixed(s->options, s->state.settings, s->t->resume, err);
    return status;
}

/* What comes with the weights and cannot be chosen anew. */
static const char *const INHERITED[] = {"n-layer", "n-head", "n-embd", "block-size", "window",
                                        "bias",    "tied",   "tokens", NULL};

static enum status load_initial(struct session *s, struct error *err)
{
    for (size_t i = 0; INHERITED[i]; i++)
        if (options_given(s->options, INHERITED[i]))
            return fail(err, STATUS_USAGE, "--init-from brings its own sizes and vocabulary: leave out --%s",
                        INHERITED[i]);
    char *folder;
    enum status status = run_find(&folder, s->t->init_from, err);
    if (status)
        return status;
    status = checkpoint_read(&s->from, folder, false, err);
    free(folder);
    if (status)
        return status;
    /* Weights that saw the future stay marked, whatever mask they are trained with from now on. */
    const struct config *c = &s->from.model.config;
    s->state.leaky = c->trained != c->declared || json_is_true(json_object_get(s->from.state, "leaky"));
    s->t->tokens = (int)s->from.tokenizer.kind;
    return STATUS_OK;
}

static bool reads_input(const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(paths[i], "-") == 0)
            return true;
    return false;
}

/* Another text than the run's is told by its characters first: that is what a person can act on. */
static enum status compare_characters(const struct session *s, const char *const *paths, size_t n, struct error *err)
{
    struct tokenizer fresh = {.kind = s->from.tokenizer.kind};
    struct dataset other;
    enum status status = reading_open(&other, &fresh, paths, n, s->t->val_split, err);
    if (status)
        return status;
    status = tokenizer_same(&fresh, paths[0], &s->from.tokenizer, s->t->resume, err);
    dataset_free(&other);
    tokenizer_free(&fresh);
    return status;
}

/* The resumed run's own text, from where it was or where the command line says it is now. */
static enum status load_resumed_text(struct session *s, struct error *err)
{
    const char *const run = s->t->resume;
    const bool named = s->options->operands > 0;
    const char *const *paths = named ? s->options->operand : (const char *const *)s->state.text;
    const size_t n = named ? s->options->operands : s->state.n_texts;
    if (n == 0 || (!named && reads_input(paths, n)))
        return fail(err, STATUS_USAGE, "%s was trained on %s: name the text, as in nopeek train --resume %s TEXT", run,
                    n ? "standard input" : "a text without a name", run);
    enum status status = reading_open(&s->data, &s->from.tokenizer, paths, n, s->t->val_split, err);
    if (!named && status)
        return fail_within(err, status, "the text of %s (if it has moved: nopeek train --resume %s TEXT)", run, run);
    if (!status && strcmp(s->data.hash, s->state.text_hash) == 0)
        return named ? state_set_text(&s->state, paths, n, err) : STATUS_OK;
    if (named && !reads_input(paths, n))
        status = compare_characters(s, paths, n, err);
    if (status)
        return status;
    return fail(err, STATUS_FORMAT,
                named
                    ? "%s is not the text that %s was trained on (same characters, other content): name the same text, "
                      "or begin a new run with --init-from %s"
                    : "%s has changed since %s was trained on it: bring the text back, or begin a new run with "
                      "--init-from %s",
                paths[0], run, run);
}

static enum status load_text(struct session *s, struct error *err)
{
    if (s->t->resume)
        return load_resumed_text(s, err);
    const char *const *paths = s->options->operand;
    const size_t n = s->options->operands;
    if (n == 0)
        return fail(err, STATUS_USAGE,
                    "train: name a text file to learn from (or --resume RUN): see nopeek help train");
    struct tokenizer *tokenizer = &s->from.tokenizer;
    if (!s->t->init_from)
        tokenizer->kind = (enum tokenizer_kind)s->t->tokens;
    const enum status status = reading_open(&s->data, tokenizer, paths, n, s->t->val_split, err);
    if (status)
        return status;
    memcpy(s->state.text_hash, s->data.hash, sizeof s->data.hash);
    s->state.text_bytes = s->data.bytes;
    s->state.text_symbols = s->data.count;
    return state_set_text(&s->state, paths, n, err);
}

/* Sizes from --init-from, a preset or the text, whichever was not given. */
static enum status settle_options(struct session *s, struct error *err)
{
    struct train_options *t = s->t;
    enum status status = STATUS_OK;
    if (t->resume)
        return STATUS_OK;
    if (!options_given(s->options, "threads"))
        t->threads = (size_t)team_cores();
    status = train_options_preset(s->options, t, err);
    if (!status && t->preset == 0)
        status = train_options_suit(s->options, t, s->data.train, err);
    if (t->init_from) {
        const struct config *c = &s->from.model.config;
        t->n_layer = c->n_layer;
        t->n_head = c->n_head;
        t->n_embd = c->n_embd;
        t->block_size = c->block_size;
        t->window = c->window;
        t->bias = c->bias;
        t->tied = c->tied;
    }
    if (options_source(s->options, "min-lr") == OPTIONS_DEFAULT)
        t->min_lr = t->lr / 100;
    const enum options_source warmup = options_source(s->options, "warmup");
    if ((warmup == OPTIONS_DEFAULT && t->warmup > t->steps / 10) || (warmup == OPTIONS_PRESET && t->warmup > t->steps))
        t->warmup = t->steps / 10;
    return status;
}

static enum status make_model(struct session *s, struct error *err)
{
    const struct train_options *t = s->t;
    struct config c = train_options_config(t, s->from.tokenizer.size);
    s->from.model.config.precision = c.precision;
    if (t->resume)
        return STATUS_OK;
    if (t->init_from) {
        /* What is not a matter of shape is this run's own. */
        struct gpt *g = &s->from.model;
        g->config.dropout = c.dropout;
        g->config.trained = c.trained;
        for (size_t i = 0; i < c.n_layer * c.n_head; i++)
            g->rules[i] = c.trained;
        return STATUS_OK;
    }
    const enum status status = gpt_create(&s->from.model, &c, err);
    if (!status)
        params_init(s->from.model.params, &s->from.model.table, &c, t->seed);
    return status;
}

static bool suited_to_text(const struct options *o)
{
    static const char *const sizes[] = {"n-layer", "n-head", "n-embd", "block-size"};
    bool any = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        any |= options_source(o, sizes[i]) == OPTIONS_PRESET;
    return any;
}

/* What is about to be done, before any memory for it is taken. */
static enum status show_plan(struct session *s, const struct trainer_settings *settings, struct error *err)
{
    const struct config *c = &s->from.model.config;
    char a[HUMAN_SIZE], b[HUMAN_SIZE], d[HUMAN_SIZE];
    size_t bytes;
    const enum status status = trainer_measure(&bytes, c, settings, err);
    if (status)
        return status;
    const size_t windows = settings->grad_accum * settings->batch_size;
    const char *unit = s->from.tokenizer.kind == TOKENIZER_BYTES ? "bytes" : "characters";
    terminal_entry(&s->notes, "text     ", "%s %s, %zu distinct; %s to train on, %s to validate",
                   human_count(a, s->data.count), unit, c->vocab_size, human_count(b, s->data.train),
                   human_count(d, s->data.count - s->data.train));
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
                   "%zu steps of %zu window%s of %zu symbols, %s times through the text; learning rate %g to %g, "
                   "dropout %g",
                   settings->schedule.steps, windows, windows == 1 ? "" : "s", c->block_size, human_rate(a, passes),
                   settings->schedule.lr, settings->schedule.min_lr, c->dropout);
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
    terminal_entry(&s->notes, "machine  ", "%d thread%s; matrix products: %s (%s build), one thread each",
                   settings->team.threads, settings->team.threads == 1 ? "" : "s", gemm_library(), gemm_threading());
    terminal_entry(&s->notes, "memory   ", "%s to be taken, beside %s of text and %s of weights", human_bytes(a, bytes),
                   human_bytes(b, s->data.count * s->data.width),
                   human_bytes(d, s->from.model.table.size * sizeof(real)));
    return STATUS_OK;
}

static void prepare_trainer(struct session *s, const struct trainer_settings *settings)
{
    s->trainer.settings = *settings;
    s->trainer.data = &s->data;
    s->trainer.tokenizer = &s->from.tokenizer;
    s->trainer.model = &s->from.model;
    s->trainer.state = &s->state;
    s->trainer.events = train_view_events(&s->view);
}

/* The directory: new, or the resumed one with what an abandoned timeline left moved aside. */
static enum status prepare_directory(struct session *s, char **resumed, struct error *err)
{
    *resumed = NULL;
    if (!s->t->resume) {
        s->trainer.dir = s->t->out;
        return run_create(s->t->out, s->t->force, err);
    }
    *resumed = run_of_checkpoint(s->from.path);
    if (!*resumed)
        return fail(err, STATUS_MEMORY, "train: the run's name was refused memory");
    s->trainer.dir = *resumed;
    s->trainer.resumed = true;
    size_t moved;
    const enum status status = run_rewind(*resumed, s->state.step, s->state.best_step, &moved, err);
    if (!status && moved)
        terminal_note(&s->notes, "%zu later checkpoint%s moved aside (.old)", moved, moved == 1 ? " was" : "s were");
    return status;
}

static bool stop_evaluating(void *context, size_t windows_done, size_t windows)
{
    (void)context, (void)windows_done, (void)windows;
    return interrupt_pending();
}

/* The exact loss over the validation part, when it costs little beside the training that was done. */
static enum status show_result(struct session *s, struct error *err)
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
        terminal_note(&s->notes, "next: nopeek generate %s/best (or %s for the last step)", t->dir, t->dir);
        return STATUS_OK;
    }
    terminal_note(&s->notes, "next: nopeek generate %s", t->dir);
    return STATUS_OK;
}

static enum status train(struct session *s, struct error *err)
{
    const struct train_options *t = s->t;
    s->state = (struct state){.best_step = STATE_NO_STEP, .best_loss = (double)NAN};
    enum status status = STATUS_OK;
    if (t->resume)
        status = load_resumed(s, err);
    else if (t->init_from)
        status = load_initial(s, err);
    if (!status)
        status = load_text(s, err);
    if (!status)
        status = settle_options(s, err);
    if (!status)
        status = make_model(s, err);
    if (status)
        return status;
    const struct trainer_settings settings = train_options_settings(t);
    status = trainer_check_settings(&settings, err);
    if (!status)
        status = dataset_check(&s->data, s->from.model.config.block_size, err);
    if (!status)
        status = show_plan(s, &settings, err);
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
    if (status)
        return status;
    terminal_entry(&s->notes, "check    ", "%s", s->state.check);
    char *resumed;
    status = prepare_directory(s, &resumed, err);
    interrupt_catch();
    if (!status)
        status = trainer_run(&s->trainer, err);
    terminal_clear(&s->view.err);
    if (!status)
        status = show_result(s, err);
    free(resumed);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct session s = {.options = options, .t = settings};
    terminal_open(&s.notes, stderr);
    const enum status status = train(&s, err);
    session_free(&s);
    return status;
}

static const struct command_example examples[] = {
    {"Train on a text of your own; sizes are chosen to suit it", "train book.txt -o book"},
    {"nanoGPT's setting for a CPU", "train book.txt -o book --preset nano-cpu"},
    {"Go on after an interruption", "train --resume book"},
    {"See what a missing causal mask does", "train book.txt -o leaky --mask none --allow-leak --steps 600"},
    {NULL, NULL},
};

const struct command cmd_train = {
    .name = "train",
    .summary = "trains a model on a text",
    .operands = "[TEXT ...]",
    .max_operands = SIZE_MAX,
    .about =
        "Trains a character-level transformer on TEXT (one or more files, or - for standard input) and writes a run "
        "directory: checkpoints that transformers can read as GPT-2 models, and metrics.jsonl with the losses and "
        "the entropy of every attention head.\n"
        "\n"
        "The model is checked for leaks before the first step and at every evaluation; training refuses to start "
        "when a position sees its own future. Ctrl-C finishes the step, saves and exits with status 130.",
    .options = train_options_table,
    .settings_size = sizeof(struct train_options),
    .examples = examples,
    .run = run,
};
