/* nopeek trap: the same model trained with its mask right and with a fault, side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/team.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/compute_rows.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/reading.h"
#include "cli/shell_word.h"
#include "cli/trap_view.h"
#include "io/metrics.h"
#include "lab/trap.h"
#include "lab/trap_page.h"
#include "report/buffer.h"

struct settings {
    const char *fault, *html, *svg;
    bool json;
    size_t n_layer, n_head, n_embd, block_size, window, batch_size, steps, warmup;
    double dropout, lr, min_lr, weight_decay, beta2, val_split;
    int tokens; /* enum tokenizer_kind */
    uint64_t seed;
    size_t threads, eval_interval, eval_windows, sample_size;
};

#define FIELD(f) .offset = offsetof(struct settings, f)

static const char *const token_names[] = {"char", "byte", NULL};

/* clang-format off */
static const struct option_spec options_table[] = {
    OPTION_SECTION("Trap"),
    {.name = "fault", .type = OPTION_STRING, FIELD(fault), .metavar = "NAME", .fallback = "no-mask",
     .help = "what is wrong with the second twin: no-mask, transposed, one-ahead, not-itself, after-softmax, "
             "renormalised, minus-1e4, minus-1e9, lost-with-dropout, lost-when-logged, forward-unmasked, "
             "backward-unmasked, tile-diagonal, tile-backward, tile-edge, window-edge, time-mean-embeddings, time-mean-ln1, time-mean-ln2, time-mean-lnf, "
             "block-mean-attention, block-mean-gelu, batch-mean, batch-next, targets-not-shifted, "
             "targets-shifted-twice, draws-all, val-early"},
    {.name = "html", .type = OPTION_PATH, FIELD(html), .metavar = "FILE",
     .help = "write all of it as one page: curves, heads, attention maps, samples, verdicts"},
    {.name = "svg", .type = OPTION_PATH, FIELD(svg), .metavar = "FILE",
     .help = "write the curves of the losses as a picture"},
    {.name = "json", .type = OPTION_FLAG, FIELD(json),
     .help = "print one JSON object: right and leaky, each with train_loss, val_loss, generation_loss, detected_by; "
             "fault, steps, fooled_at_step, seconds, history"},

    OPTION_SECTION("Model"),
    {.name = "n-layer", .type = OPTION_SIZE, FIELD(n_layer), .metavar = "L", .fallback = "4",
     .range = OPTION_BETWEEN(1, 4095), .help = "blocks, one after another"},
    {.name = "n-head", .type = OPTION_SIZE, FIELD(n_head), .metavar = "H", .fallback = "4",
     .range = OPTION_BETWEEN(1, 4095), .help = "attention heads of a block; must divide the channels"},
    {.name = "n-embd", .type = OPTION_SIZE, FIELD(n_embd), .metavar = "C", .fallback = "128",
     .range = OPTION_BETWEEN(1, 1048576), .help = "channels: numbers that stand for one symbol"},
    {.name = "block-size", .type = OPTION_SIZE, FIELD(block_size), .metavar = "T", .fallback = "64",
     .range = OPTION_BETWEEN(1, 1073741824), .help = "context: how many symbols the model sees at once"},
    {.name = "window", .type = OPTION_SIZE, FIELD(window), .metavar = "W", .fallback = "0",
     .fallback_note = "the whole context", .range = OPTION_BETWEEN(0, 1073741824),
     .help = "attention sees the last W symbols only, itself included"},
    {.name = "dropout", .type = OPTION_NUMBER, FIELD(dropout), .metavar = "P", .fallback = "0",
     .range = OPTION_FROM_BELOW(0, 1), .help = "share of numbers dropped in training"},

    OPTION_SECTION("Text"),
    {.name = "tokens", .type = OPTION_CHOICE, FIELD(tokens), .metavar = "KIND", .fallback = "char",
     .choices = token_names, .help = "a symbol is a Unicode character, or a byte (256 of them, any file)"},
    {.name = "val-split", .type = OPTION_NUMBER, FIELD(val_split), .metavar = "SHARE", .fallback = "0.1",
     .range = OPTION_INSIDE(0, 1), .help = "share of the text, at its end, kept for validation"},

    OPTION_SECTION("Optimisation"),
    {.name = "steps", .type = OPTION_SIZE, FIELD(steps), .metavar = "N", .fallback = "600",
     .range = OPTION_BETWEEN(1, 4294967295), .help = "optimizer updates of each twin"},
    {.name = "batch-size", .type = OPTION_SIZE, FIELD(batch_size), .metavar = "B", .fallback = "12",
     .range = OPTION_BETWEEN(1, 65536), .help = "windows in a step"},
    {.name = "lr", .type = OPTION_NUMBER, FIELD(lr), .metavar = "RATE", .fallback = "1e-3",
     .range = OPTION_ABOVE(0), .help = "highest learning rate"},
    {.name = "min-lr", .type = OPTION_NUMBER, FIELD(min_lr), .metavar = "RATE", .fallback = "1e-4",
     .fallback_note = "lr / 10", .range = OPTION_AT_LEAST(0), .help = "learning rate at the end of the cosine"},
    {.name = "warmup", .type = OPTION_SIZE, FIELD(warmup), .metavar = "N", .fallback = "100",
     .fallback_note = "100, or a tenth of the steps", .help = "steps of linear warm-up"},
    {.name = "weight-decay", .type = OPTION_NUMBER, FIELD(weight_decay), .metavar = "W", .fallback = "0.1",
     .range = OPTION_AT_LEAST(0), .help = "AdamW's decay"},
    {.name = "beta2", .type = OPTION_NUMBER, FIELD(beta2), .metavar = "B", .fallback = "0.99",
     .range = OPTION_FROM_BELOW(0, 1), .help = "AdamW's second decay rate"},
    {.name = "seed", .type = OPTION_SEED, FIELD(seed), .metavar = "N", .fallback = "1",
     .help = "of the first weights and the order of the text, for both twins"},

    OPTION_SECTION("Work"),
    COMPUTE_ROW_THREADS(offsetof(struct settings, threads), "threads to compute with"),
    {.name = "eval-interval", .type = OPTION_SIZE, FIELD(eval_interval), .metavar = "N", .fallback = "100",
     .help = "steps between evaluations; 0: only before the first step and after the last"},
    {.name = "eval-windows", .type = OPTION_SIZE, FIELD(eval_windows), .metavar = "N", .fallback = "6",
     .range = OPTION_BETWEEN(1, 1000000), .help = "windows of each part that an evaluation reads, evenly spread"},
    {.name = "sample-size", .type = OPTION_SIZE, FIELD(sample_size), .metavar = "N", .fallback = "240",
     .range = OPTION_BETWEEN(0, 100000), .help = "symbols that each twin writes at the end"},
    OPTION_END,
};
/* clang-format on */

static const struct command_example examples[] = {
    {"See what a missing mask does to a text of your own", "trap book.txt"},
    {"The same as a page to look at and pass on", "trap book.txt --html trap.html"},
    {"A mask whose diagonal is off by one", "trap book.txt --fault one-ahead"},
    {NULL, NULL},
};

static struct trap_settings trap_settings(const struct options *o, const struct settings *s, size_t vocab_size)
{
    struct config c = config_make(s->n_layer, s->n_head, s->n_embd, s->block_size, vocab_size);
    c.bias = false;
    c.dropout = s->dropout;
    c.window = s->window;
    c.declared = c.trained = s->window > 0 ? ATTENTION_WINDOW : ATTENTION_CAUSAL;
    const bool short_run = !options_given(o, "warmup") && s->warmup > s->steps / 10;
    return (struct trap_settings){
        .config = c,
        .schedule = {.lr = s->lr,
                     .min_lr = options_given(o, "min-lr") ? s->min_lr : s->lr / 10,
                     .warmup = short_run ? s->steps / 10 : s->warmup,
                     .steps = s->steps},
        .batch_size = s->batch_size,
        .weight_decay = s->weight_decay,
        .beta1 = 0.9,
        .beta2 = s->beta2,
        .grad_clip = 1,
        .seed = s->seed,
        .team = compute_team(s->threads),
        .eval_interval = s->eval_interval,
        .eval_windows = s->eval_windows,
        .sample_size = s->sample_size,
    };
}

static json_t *losses_json(const struct trap_look *l)
{
    return json_pack("{s:o, s:o, s:o}", "train_loss", metrics_number(l->train_loss), "val_loss",
                     metrics_number(l->val_loss), "generation_loss", metrics_number(l->generation_loss));
}

static json_t *side_json(const struct trap *t, enum trap_side side)
{
    const struct trap_twin *twin = &t->twin[side];
    json_t *o = losses_json(&t->point[t->points - 1].look[side]), *names = json_array(), *steps = json_array();
    for (size_t i = 0; i < twin->catches; i++) {
        json_array_append_new(names, json_string(twin->caught[i].detector));
        json_array_append_new(steps, json_integer((json_int_t)twin->caught[i].step));
    }
    json_object_set_new(o, "detected_by", names);
    json_object_set_new(o, "detected_at_step", steps);
    json_object_set_new(o, "sample", json_stringn(twin->sample, twin->sample_bytes));
    return o;
}

static json_t *heads_json(const struct trap *t, const double *values)
{
    json_t *layers = json_array();
    const struct config *c = &t->settings.config;
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        json_t *row = json_array();
        for (size_t h = 0; h < c->n_head; h++)
            json_array_append_new(row, metrics_number(values[layer * c->n_head + h]));
        json_array_append_new(layers, row);
    }
    return layers;
}

static enum status print_json(const struct trap *t, struct error *err)
{
    static const char *const names[] = {"right", "leaky"};
    json_t *history = json_array();
    for (size_t i = 0; i < t->points; i++) {
        json_t *point = json_pack("{s:I}", "step", (json_int_t)t->point[i].step);
        for (size_t side = 0; side < TRAP_SIDES; side++) {
            json_t *look = losses_json(&t->point[i].look[side]);
            json_object_set_new(look, "entropy", heads_json(t, t->point[i].look[side].entropy));
            json_object_set_new(look, "future", heads_json(t, t->point[i].look[side].future));
            json_object_set_new(point, names[side], look);
        }
        json_array_append_new(history, point);
    }
    json_t *o = json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "fault", t->settings.fault->name, "steps",
                          (json_int_t)t->step, "right", side_json(t, TRAP_RIGHT), "leaky", side_json(t, TRAP_LEAKY),
                          "uniform_loss", metrics_number(log((double)t->settings.config.vocab_size)), "fooled_at_step",
                          t->fooled_at == TRAP_NEVER ? json_null() : json_integer((json_int_t)t->fooled_at), "seconds",
                          metrics_number(t->seconds), "history", history);
    return command_print_json(o, JSON_COMPACT, "trap", err);
}

/* The command that does the same again: what was given, and the number of threads. */
static void put_command(struct buffer *b, const struct options *o, const struct trap *t)
{
    buffer_text(b, "nopeek trap");
    for (size_t i = 0; i < o->operands; i++)
        shell_word_put(b, o->operand[i]);
    for (const struct option_spec *spec = o->table; !option_is_end(spec); spec++) {
        if (!spec->name || strcmp(spec->name, "threads") == 0 || !options_given(o, spec->name))
            continue;
        json_t *value = option_to_json(o->target, spec);
        char *number =
            value && !json_is_string(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)) : NULL;
        buffer_print(b, " --%s", spec->name);
        if (spec->type != OPTION_FLAG && value)
            shell_word_put(b, number ? number : json_string_value(value));
        free(number);
        json_decref(value);
    }
    buffer_print(b, " --threads %d", t->settings.team.threads);
}

static enum status write_files(const struct trap *t, const struct settings *s, const struct options *o,
                               struct error *err)
{
    enum status status = STATUS_OK;
    if (s->html) {
        struct buffer page = {0}, command = {0};
        put_command(&command, o, t);
        status = buffer_check(&command, s->html, err);
        if (!status) {
            trap_page(&page, t, command.bytes);
            status = output_file_write(s->html, &page, err);
        }
        buffer_free(&command);
    }
    if (!status && s->svg) {
        struct buffer figure = {0};
        trap_figure(&figure, t);
        status = output_file_write(s->svg, &figure, err);
    }
    return status;
}

static void show_plan(struct trap_view *v, const struct trap *t)
{
    const struct trap_settings *s = &t->settings;
    char a[HUMAN_SIZE], b[HUMAN_SIZE];
    terminal_entry(&v->err, "text     ", "%s symbols, %zu distinct; guessing all alike is a loss of ln %zu = %.3f nats",
                   human_count(a, t->data->count), s->config.vocab_size, s->config.vocab_size,
                   log((double)s->config.vocab_size));
    terminal_entry(&v->err, "twins    ",
                   "%zu layer%s, %zu head%s, %zu channels, context %zu: %s parameters each; same first weights, same "
                   "batches",
                   s->config.n_layer, s->config.n_layer == 1 ? "" : "s", s->config.n_head,
                   s->config.n_head == 1 ? "" : "s", s->config.n_embd, s->config.block_size,
                   human_count(b, t->twin[0].model.table.size));
    terminal_entry(&v->err, "fault    ", "%s: %s", s->fault->name, s->fault->says);
    terminal_entry(
        &v->err, "shown    ",
        "losses in nats: train and val read whole windows; no future predicts the same val symbols one at a time, with "
        "nothing after them. A digit for each head, in tenths: entropy (9: looks at all alike) and "
        "weight on the future");
}

static enum status run_trap(struct trap *t, const struct settings *s, const struct options *o, struct error *err)
{
    struct trap_view view;
    trap_view_open(&view, s->json);
    t->events = trap_view_events(&view);
    enum status status = trap_create(t, err);
    if (status)
        return status;
    show_plan(&view, t);
    interrupt_catch();
    status = trap_run(t, err);
    terminal_clear(&view.err);
    /* What was learned is shown even if a file cannot be written. */
    if (!status && s->json)
        status = print_json(t, err);
    else if (!status)
        trap_view_result(&view, t);
    if (!status)
        status = write_files(t, s, o, err);
    if (!status && s->html)
        terminal_note(&view.err, "next: look at %s", s->html);
    trap_free(t);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    const struct settings *s = settings;
    struct tokenizer tokenizer = {.kind = (enum tokenizer_kind)s->tokens};
    struct dataset data;
    enum status status = output_file_check(s->html, "trap", err);
    if (!status)
        status = output_file_check(s->svg, "trap", err);
    if (!status)
        status = reading_spares(s->html, "html", options->operand, options->operands, err);
    if (!status)
        status = reading_spares(s->svg, "svg", options->operand, options->operands, err);
    if (status)
        return status;
    status = reading_open(&data, &tokenizer, options->operand, options->operands, s->val_split, err);
    if (status)
        return status;
    struct trap *t = calloc(1, sizeof *t);
    status = t ? STATUS_OK : fail(err, STATUS_MEMORY, "trap: out of memory");
    if (t) {
        t->settings = trap_settings(options, s, tokenizer.size);
        t->data = &data;
        t->tokenizer = &tokenizer;
        status = trap_fault(&t->settings.fault, s->fault, &t->settings.config, s->batch_size, err);
        if (!status)
            status = run_trap(t, s, options, err);
    }
    free(t);
    dataset_free(&data);
    tokenizer_free(&tokenizer);
    return status;
}

const struct command cmd_trap = {
    .name = "trap",
    .group = COMMAND_LEARN,
    .summary = "trains the same model with its mask right and wrong, side by side",
    .operands = "TEXT ...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .about =
        "A model that sees the future while it trains reaches a loss of almost nothing, on the validation text too, "
        "and has learned nothing. This shows it: twins learn TEXT from the same first weights in the same order, one "
        "with its mask right, the other with a fault.\n\n"
        "At each evaluation both are measured as everybody does it, on whole windows, and as they write: each next "
        "symbol predicted with no future present. For the right twin the two losses are the same; for the leaky one "
        "the gap is what it only peeked at. Then each detector says what it found, and from which step on a person "
        "who looks at validation losses would have kept the wrong twin. Nothing is saved but the files that "
        "--html and --svg name.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
