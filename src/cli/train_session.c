#include "cli/train_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "cli/reading.h"
#include "store/run.h"
#include "store/run_read.h"

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
static enum status load_resumed(struct train_session *s, struct error *err)
{
    if (options_given(s->options, "out") || options_given(s->options, "init-from") ||
        options_given(s->options, "preset") || options_given(s->options, "force"))
        return fail(err, STATUS_USAGE,
                    "--resume goes on in the same run: leave out -o, --init-from, --preset and "
                    "--force");
    /* Locked before it is read: what another process saved in between would be taken for an abandoned timeline. Who
     * writes nothing there may look on. */
    enum status status = STATUS_OK;
    if (!s->t->dry_run && !s->t->verify_resume)
        status = run_lock_resumed(&s->lock, s->t->resume, err);
    if (!status)
        status = run_read(&s->from, s->t->resume, true, err);
    if (status)
        return status;
    if (!s->from.state)
        return fail(err, STATUS_FORMAT,
                    "%s has no trainer_state.json: it cannot be resumed; start a new run from it "
                    "with --init-from",
                    s->from.path);
    char *run;
    status = run_of_checkpoint(&run, s->from.path, err);
    if (status)
        return status;
    const bool in_run = run != NULL;
    free(run);
    if (!in_run)
        return fail(err, STATUS_USAGE, "%s is not a checkpoint of a run directory (step-NNNNNN): use --init-from",
                    s->from.path);
    status = state_from_json(&s->state, s->from.state, s->from.path, err);
    if (status)
        return status;
    status = options_load(s->options, s->state.settings, OPTIONS_SAVED, s->from.path, err);
    if (status == STATUS_USAGE) /* nobody typed them: the file is wrong, not the command line */
        return STATUS_FORMAT;
    return status ? status : check_fixed(s->options, s->state.settings, s->t->resume, err);
}

/* What comes with the weights and cannot be chosen anew. */
static const char *const INHERITED[] = {"n-layer", "n-head", "n-embd", "block-size", "window",
                                        "bias",    "tied",   "tokens", NULL};

static enum status load_initial(struct train_session *s, struct error *err)
{
    for (size_t i = 0; INHERITED[i]; i++)
        if (options_given(s->options, INHERITED[i]))
            return fail(err, STATUS_USAGE, "--init-from brings its own sizes and vocabulary: leave out --%s",
                        INHERITED[i]);
    const enum status status = run_read(&s->from, s->t->init_from, false, err);
    if (status)
        return status;
    /* Weights that saw the future stay marked, whatever mask they are trained with from now on. */
    const struct config *c = &s->from.model.config;
    bool leaky = false;
    if (json_object_get(s->from.state, "text")) { /* else no trainer wrote it */
        struct state before;
        const enum status read = state_from_json(&before, s->from.state, s->from.path, err);
        if (read)
            return read;
        leaky = before.leaky;
        state_free(&before);
    }
    s->state.leaky = c->trained != c->declared || leaky;
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
static enum status compare_characters(const struct train_session *s, const char *const *paths, size_t n,
                                      struct error *err)
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
static enum status load_resumed_text(struct train_session *s, struct error *err)
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
    /* A vocabulary from elsewhere may well have more than this text. */
    if (named && !reads_input(paths, n) && s->from.tokenizer.kind == TOKENIZER_CHARS && !s->from.tokenizer.order)
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

static enum status load_text(struct train_session *s, struct error *err)
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
static enum status settle_options(struct train_session *s, struct error *err)
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

static enum status make_model(struct train_session *s, struct error *err)
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

enum status train_session_load(struct train_session *s, struct error *err)
{
    s->state = (struct state){.best_step = STATE_NO_STEP, .best_loss = (double)NAN};
    enum status status = STATUS_OK;
    if (s->t->resume)
        status = load_resumed(s, err);
    else if (s->t->init_from)
        status = load_initial(s, err);
    if (!status)
        status = load_text(s, err);
    if (!status)
        status = settle_options(s, err);
    return status ? status : make_model(s, err);
}

void train_session_free(struct train_session *s)
{
    train_view_close(&s->view);
    trainer_free(&s->trainer);
    state_free(&s->state);
    dataset_free(&s->data);
    checkpoint_free(&s->from);
    run_lock_release(&s->lock);
}
