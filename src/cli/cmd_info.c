/* nopeek info: what a run or a checkpoint is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/heads.h"
#include "cli/human.h"
#include "cli/saved.h"
#include "cli/terminal.h"
#include "io/metrics.h"

struct settings {
    bool json;
};

static const struct option_spec options_table[] = {
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object instead"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"The latest checkpoint of a run", "info run"},
    {"The best one", "info run/best"},
    {NULL, NULL},
};

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Fills an (L,H) table from nested arrays of numbers and nulls; false when they have another shape. */
static bool table_from_json(double *out, const json_t *rows, size_t L, size_t H)
{
    if (json_array_size(rows) != L)
        return false;
    for (size_t layer = 0; layer < L; layer++) {
        const json_t *row = json_array_get(rows, layer);
        if (json_array_size(row) != H)
            return false;
        for (size_t h = 0; h < H; h++) {
            const json_t *value = json_array_get(row, h);
            out[layer * H + h] = json_is_number(value) ? json_number_value(value) : (double)NAN;
        }
    }
    return true;
}

static void print_heads(const json_t *step_record, const struct config *c)
{
    const size_t n = c->n_layer * c->n_head;
    double *entropy = calloc(n, sizeof *entropy), *max_score = calloc(n, sizeof *max_score);
    if (entropy && max_score &&
        table_from_json(entropy, json_object_get(step_record, "entropy"), c->n_layer, c->n_head) &&
        table_from_json(max_score, json_object_get(step_record, "max_score"), c->n_layer, c->n_head)) {
        const struct heads heads = {c->n_layer, c->n_head, entropy, max_score};
        putchar('\n');
        heads_print(stdout, &heads, NULL);
    }
    free(entropy);
    free(max_score);
}

/* A name out of a file, or of one, may hold anything: none of it is to speak to the terminal. */
static void print_name(const char *name)
{
    char *shown = strdup(name);
    if (shown)
        status_one_line(shown);
    fputs(shown ? shown : "?", stdout);
    free(shown);
}

static void print_model(const struct saved *s)
{
    const struct gpt *g = &s->checkpoint.model;
    const struct config *c = &g->config;
    char size[HUMAN_SIZE];
    struct terminal out;
    terminal_open(&out, stdout);
    printf("checkpoint  ");
    print_name(s->checkpoint.path);
    putchar('\n');
    terminal_entry(&out, "model       ", "%zu layer%s, %zu head%s of %zu, %zu channels, context %zu", c->n_layer,
                   c->n_layer == 1 ? "" : "s", c->n_head, c->n_head == 1 ? "" : "s", c->head_size, c->n_embd,
                   c->block_size);
    if (c->window)
        terminal_entry(&out, "            ", "attention over a window of %zu symbols", c->window);
    terminal_entry(&out, "            ", "%s biases, %s output matrix, dropout %g", c->bias ? "with" : "without",
                   c->tied ? "tied" : "separate", c->dropout);
    printf("parameters  %s\n", human_count(size, g->table.size));
    const struct tokenizer *t = &s->checkpoint.tokenizer;
    printf("vocabulary  %zu %s", tokenizer_count(t), tokenizer_units(t->kind));
    if (tokenizer_count(t) < c->vocab_size)
        printf(", and %zu ids that stand for nothing", c->vocab_size - tokenizer_count(t));
    putchar('\n');
}

static void print_text(const struct state *state)
{
    if (state->n_texts == 0)
        return;
    char symbols[HUMAN_SIZE], bytes[HUMAN_SIZE];
    printf("text       ");
    for (size_t i = 0; i < state->n_texts; i++) {
        putchar(' ');
        print_name(state->text[i]);
    }
    putchar('\n');
    struct terminal out;
    terminal_open(&out, stdout);
    terminal_entry(&out, "            ", "%s symbols, %s, hash %s", human_count(symbols, state->text_symbols),
                   human_bytes(bytes, state->text_bytes), state->text_hash);
}

static void print_training(const struct saved *s, const json_t *step_record, const json_t *eval_record)
{
    const struct state *state = &s->state;
    const char *from = json_string_value(json_object_get(json_object_get(s->checkpoint.state, "imported"), "from"));
    if (from) {
        printf("imported    from ");
        print_name(from);
        putchar('\n');
    }
    if (!s->has_state) {
        printf("training    no record: this checkpoint can be used, not resumed\n");
        return;
    }
    print_text(state);
    char time[HUMAN_SIZE];
    printf("step        %zu, after %s of training\n", state->step, human_duration(time, state->seconds));
    if (!isnan(number_of(step_record, "loss")))
        printf("batch loss  %.4f\n", number_of(step_record, "loss"));
    if (!isnan(number_of(eval_record, "train_loss")))
        printf("train loss  %.4f\n", number_of(eval_record, "train_loss"));
    if (!isnan(number_of(eval_record, "val_loss")))
        printf("val loss    %.4f\n", number_of(eval_record, "val_loss"));
    if (state->best_step != STATE_NO_STEP)
        printf("best        %.4f at step %zu\n", state->best_loss, state->best_step);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

/* What training said of the heads, each when it was said. */
static void print_verdicts(const json_t *verdicts)
{
    struct terminal out;
    terminal_open(&out, stdout);
    for (size_t i = 0; i < json_array_size(verdicts); i++) {
        const json_t *v = json_array_get(verdicts, i);
        char said[1024];
        snprintf(said, sizeof said, "%s: %s: %s", text_of(v, "verdict"), text_of(v, "says"), text_of(v, "advice"));
        status_one_line(said);
        terminal_entry(&out, i ? "            " : "verdicts    ", "step %" JSON_INTEGER_FORMAT ": %s",
                       json_integer_value(json_object_get(v, "step")), said);
    }
}

static void print_leak(const struct saved *s)
{
    struct terminal out;
    terminal_open(&out, stdout);
    if (saved_leaky(s))
        terminal_entry(&out, "leak        ",
                       "TRAINED WITH A LEAK: symbols saw the ones after them; the losses mean nothing");
    if (s->has_state && s->state.check)
        terminal_entry(&out, "leak check  ", "%s", s->state.check);
}

/* Takes the reference to value; an object that cannot hold it is given up. */
static void put(json_t **o, const char *key, json_t *value)
{
    if (json_object_set_new(*o, key, value) == 0)
        return;
    json_decref(*o);
    *o = NULL;
}

static json_t *texts_json(const struct state *state)
{
    json_t *paths = json_array();
    for (size_t i = 0; paths && i < state->n_texts; i++)
        if (json_array_append_new(paths, json_string(state->text[i])) != 0) {
            json_decref(paths);
            return NULL;
        }
    return paths;
}

/* What the state and the log say, into the object. */
static void add_training(json_t **o, const struct saved *s, json_t *step_record, const json_t *eval_record)
{
    put(o, "batch_loss", metrics_number(number_of(step_record, "loss")));
    put(o, "train_loss", metrics_number(number_of(eval_record, "train_loss")));
    put(o, "val_loss", metrics_number(number_of(eval_record, "val_loss")));
    const char *const grids[] = {"entropy", "max_score"};
    for (size_t i = 0; i < 2; i++) {
        json_t *grid = json_object_get(step_record, grids[i]);
        put(o, grids[i], grid ? json_incref(grid) : json_null());
    }
    const struct state *state = &s->state;
    if (!s->has_state)
        return;
    const bool best = state->best_step != STATE_NO_STEP;
    put(o, "step", json_integer((json_int_t)state->step));
    put(o, "seconds", metrics_number(state->seconds));
    put(o, "best_step", best ? json_integer((json_int_t)state->best_step) : json_null());
    put(o, "best_loss", best ? metrics_number(state->best_loss) : json_null());
    put(o, "check", state->check ? json_string(state->check) : json_null());
    put(o, "text", texts_json(state));
    put(o, "text_hash", json_string(state->text_hash));
    put(o, "text_symbols", json_integer((json_int_t)state->text_symbols));
    put(o, "settings", state->settings ? json_incref(state->settings) : json_null());
}

/* What is printed of metrics.jsonl. */
struct records {
    json_t *step, *eval; /* the last; NULL: none */
    json_t *verdicts;    /* all */
};

static enum status print_json(const struct saved *s, const struct records *r, struct error *err)
{
    const struct gpt *g = &s->checkpoint.model;
    const struct config *c = &g->config;
    json_t *o = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:f, s:I, s:s, s:b}", "checkpoint",
                          state_path_json(s->checkpoint.path), "n_layer", (json_int_t)c->n_layer, "n_head",
                          (json_int_t)c->n_head, "n_embd", (json_int_t)c->n_embd, "head_size", (json_int_t)c->head_size,
                          "block_size", (json_int_t)c->block_size, "window", (json_int_t)c->window, "vocab_size",
                          (json_int_t)c->vocab_size, "bias", c->bias, "tied", c->tied, "dropout", c->dropout,
                          "parameters", (json_int_t)g->table.size, "tokens",
                          tokenizer_option(s->checkpoint.tokenizer.kind), "leak", saved_leaky(s));
    add_training(&o, s, r->step, r->eval);
    put(&o, "verdicts", json_incref(r->verdicts));
    return command_print_json(o, JSON_COMPACT, "info", err);
}

static enum status read_records(struct records *r, const struct saved *s, struct error *err)
{
    *r = (struct records){NULL, NULL, NULL};
    enum status status = saved_record(&r->step, s, "step", err);
    if (status == STATUS_OK)
        status = saved_record(&r->eval, s, "eval", err);
    return status == STATUS_OK ? saved_records(&r->verdicts, s, "verdict", err) : status;
}

static void print_all(const struct saved *s, const struct records *r)
{
    print_model(s);
    print_training(s, r->step, r->eval);
    print_leak(s);
    print_verdicts(r->verdicts);
    print_heads(r->step, &s->checkpoint.model.config);
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    const struct settings *chosen = settings;
    struct saved saved;
    struct records records;
    enum status s = saved_open(&saved, options->operand[0], err);
    if (s != STATUS_OK)
        return s;
    s = read_records(&records, &saved, err);
    if (s == STATUS_OK && chosen->json)
        s = print_json(&saved, &records, err);
    else if (s == STATUS_OK)
        print_all(&saved, &records);
    json_decref(records.step);
    json_decref(records.eval);
    json_decref(records.verdicts);
    saved_close(&saved);
    return s;
}

const struct command cmd_info = {
    .name = "info",
    .group = COMMAND_MAKE,
    .summary = "says what a run or checkpoint is",
    .operands = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .about =
        "Prints a model's shape and size, the text it was trained on, its step and losses, what its attention heads "
        "do, what training said of them, and whether it was trained with a leak. RUN is a run directory, whose latest "
        "checkpoint is taken, or "
        "one checkpoint folder, such as RUN/best.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .no_products = true,
    .run = run,
};
