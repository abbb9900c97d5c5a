/* nopeek bench: how fast training and writing are on this machine, and what it could do. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "cli/bench_view.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "lab/bench.h"
#include "lab/bench_attention.h"
#include "lab/peak.h"

enum measure { MEASURE_ALL, MEASURE_STEPS, MEASURE_GENERATION };

struct settings {
    int preset; /* 0: none */
    size_t n_layer, n_head, n_embd, block_size, batch_size, vocab_size;
    double dropout;
    bool bias;
    int measure; /* enum measure */
    size_t attention;
    size_t threads, repeats;
    int precision; /* enum precision */
    double bout;
    bool json;
};

#define FIELD(f) .offset = offsetof(struct settings, f)

static const char *const preset_names[] = {"none", "small", "big", "nano-cpu", "nano", NULL};
static const char *const measure_names[] = {"all", "steps", "generation", NULL};

/* clang-format off */
static const struct option_spec options_table[] = {
    OPTION_SECTION("What is measured"),
    {.name = "preset", .type = OPTION_CHOICE, FIELD(preset), .metavar = "NAME", .fallback = "none",
     .fallback_note = "small, then big", .choices = preset_names,
     .help = "small is train's nano-cpu; big is its nano at batch 16 and without dropout; nano is nano as it is"},
    {.name = "measure", .type = OPTION_CHOICE, FIELD(measure), .metavar = "WHAT", .fallback = "all",
     .choices = measure_names, .help = "whole training steps, writing, or all with the operations of a step"},
    {.name = "attention", .type = OPTION_SIZE, FIELD(attention), .metavar = "T", .fallback = "0",
     .range = OPTION_BETWEEN(0, 1048576),
     .help = "attention alone over T positions, forward and backward; 4 heads of 64 and batch 1 unless given; 0 is off"},

    OPTION_SECTION("Shape"),
    {.name = "n-layer", .type = OPTION_SIZE, FIELD(n_layer), .metavar = "L", .fallback = "4",
     .fallback_note = "by preset", .range = OPTION_BETWEEN(1, 4095), .help = "blocks, one after another"},
    {.name = "n-head", .type = OPTION_SIZE, FIELD(n_head), .metavar = "H", .fallback = "4",
     .fallback_note = "by preset", .range = OPTION_BETWEEN(1, 4095), .help = "attention heads of a block"},
    {.name = "n-embd", .type = OPTION_SIZE, FIELD(n_embd), .metavar = "C", .fallback = "128",
     .fallback_note = "by preset", .range = OPTION_BETWEEN(1, 1048576), .help = "channels"},
    {.name = "block-size", .type = OPTION_SIZE, FIELD(block_size), .metavar = "T", .fallback = "64",
     .fallback_note = "by preset", .range = OPTION_BETWEEN(2, 1073741824), .help = "context"},
    {.name = "batch-size", .type = OPTION_SIZE, FIELD(batch_size), .metavar = "B", .fallback = "12",
     .fallback_note = "by preset", .range = OPTION_BETWEEN(1, 4294967295), .help = "windows in a step"},
    {.name = "vocab-size", .type = OPTION_SIZE, FIELD(vocab_size), .metavar = "V", .fallback = "65",
     .range = OPTION_BETWEEN(1, 1073741824), .help = "symbols"},
    {.name = "dropout", .type = OPTION_NUMBER, FIELD(dropout), .metavar = "P", .fallback = "0",
     .fallback_note = "by preset", .range = OPTION_FROM_BELOW(0, 1), .help = "share of numbers dropped"},
    {.name = "bias", .type = OPTION_FLAG, FIELD(bias), .help = "biases in linear layers and LayerNorms"},

    OPTION_SECTION("How"),
    {.name = "threads", .type = OPTION_SIZE, FIELD(threads), .metavar = "N", .fallback = "1",
     .fallback_note = "the cores there are", .range = OPTION_BETWEEN(1, 1024), .help = "threads of our own team"},
    {.name = "precision", .type = OPTION_CHOICE, FIELD(precision), .metavar = "NAME", .fallback = "fp32",
     .choices = compute_precisions, .help = "what matrix products compute with"},
    {.name = "repeats", .type = OPTION_SIZE, FIELD(repeats), .metavar = "N", .fallback = "7",
     .range = OPTION_BETWEEN(1, 1000), .help = "rounds, in each of which everything has its turn"},
    {.name = "bout", .type = OPTION_NUMBER, FIELD(bout), .metavar = "SECONDS", .fallback = "0.25",
     .range = OPTION_BETWEEN(0, 3600), .help = "how long a turn lasts at least"},
    {.name = "json", .type = OPTION_FLAG, FIELD(json),
     .help = "print one JSON object: step_ms, tokens_per_s, flops_per_s, gemm_flops_per_s, share_of_gemm, peak_bytes, "
             "threads, kernels and more; of two shapes the first, and both in \"shapes\""},
    OPTION_END,
};
/* clang-format on */

static const struct command_example examples[] = {
    {"Both usual shapes, with the operations of a step", "bench"},
    {"A shape of your own, on one thread", "bench --n-layer 8 --n-embd 256 --block-size 512 --threads 1"},
    {"Step time alone, for a program to read", "bench --preset small --measure steps --json"},
    {"Products in bf16", "bench --preset big --precision bf16"},
    {"What a long text costs in attention", "bench --attention 4096"},
    {NULL, NULL},
};

/* A line of progress on stderr. */
struct view {
    struct terminal err;
    const char *name;
    double started;
};

static bool progress(void *context, size_t done, size_t total)
{
    struct view *v = context;
    const double now = clock_seconds();
    char left[HUMAN_SIZE];
    if (done < total)
        terminal_progress(&v->err, now, false, "%s: %zu of %zu measurements, %s left", v->name, done, total,
                          human_duration(left, (now - v->started) / (double)done * (double)(total - done)));
    return interrupt_pending();
}

static bool stop(void *context)
{
    (void)context;
    return interrupt_pending();
}

static void begin(struct view *v, const char *name)
{
    v->name = name;
    v->started = clock_seconds();
}

/* Sets what the shape of this name says of the options here, unless they were given. */
static enum status set_shape(struct options *o, const char *name, struct error *err)
{
    const bool big = strcmp(name, "big") == 0;
    const bool nano = big || strcmp(name, "nano") == 0;
    static const char *const ours[] = {"n-layer", "n-head", "n-embd", "block-size", "batch-size", "dropout", "bias"};
    enum status s = STATUS_OK;
    for (const struct train_preset *p = train_options_values(nano ? "nano" : "nano-cpu"); !s && p->option; p++)
        for (size_t i = 0; !s && i < sizeof ours / sizeof *ours; i++)
            if (strcmp(p->option, ours[i]) == 0)
                s = options_set(o, p->option, p->value, OPTIONS_PRESET, name, err);
    if (!s && big)
        s = options_set(o, "batch-size", "16", OPTIONS_PRESET, name, err);
    if (!s && big)
        s = options_set(o, "dropout", "0", OPTIONS_PRESET, name, err);
    return s;
}

static bool shape_given(const struct options *o)
{
    static const char *const shape[] = {"n-layer",    "n-head",     "n-embd",  "block-size",
                                        "batch-size", "vocab-size", "dropout", "bias"};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        if (options_given(o, shape[i]))
            return true;
    return false;
}

static enum status out_of_memory(struct error *err)
{
    return fail(err, STATUS_MEMORY, "bench: out of memory");
}

static enum status run_shape(struct view *view, json_t *shapes, const char *name, const struct settings *s,
                             struct error *err)
{
    struct bench_options o = {
        .config = config_make(s->n_layer, s->n_head, s->n_embd, s->block_size, s->vocab_size),
        .batch_size = s->batch_size,
        .team = compute_team(s->threads),
        .repeats = s->repeats,
        .bout = s->bout,
        .gemm_size = PEAK_SIZE,
        .steps = s->measure != MEASURE_GENERATION,
        .details = s->measure == MEASURE_ALL,
        .generation = s->measure != MEASURE_STEPS,
        .stop = stop,
        .progress = progress,
        .context = view,
    };
    o.config.bias = s->bias;
    o.config.precision = (enum precision)s->precision;
    o.config.dropout = s->dropout;
    struct bench b;
    begin(view, name);
    const enum status status = bench_run(&b, &o, err);
    terminal_clear(&view->err);
    if (status)
        return status;
    if (!s->json) {
        bench_view_shape(stdout, name, &b, &o);
        return command_flush(err);
    }
    json_t *object = bench_view_shape_json(name, &b, &o);
    return object && json_array_append_new(shapes, object) == 0 ? STATUS_OK : out_of_memory(err);
}

/* The first shape's figures, and all of them in "shapes". */
static json_t *summary(json_t *shapes)
{
    json_t *object = json_copy(json_array_get(shapes, 0));
    if (object && json_object_set(object, "shapes", shapes) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static enum status run_shapes(struct view *view, struct options *options, struct settings *s, struct error *err)
{
    const char *names[] = {"small", "big"};
    size_t count = 2;
    if (s->preset != 0 || shape_given(options)) {
        names[0] = preset_names[s->preset ? s->preset : 1];
        count = 1;
    }
    json_t *shapes = json_array();
    enum status status = shapes ? STATUS_OK : out_of_memory(err);
    for (size_t i = 0; !status && i < count; i++) {
        status = set_shape(options, names[i], err);
        if (!status)
            status = run_shape(view, shapes, shape_given(options) ? "as given" : names[i], s, err);
    }
    if (!status && s->json)
        status = command_print_json(summary(shapes), JSON_COMPACT, "bench", err);
    json_decref(shapes);
    return status;
}

static enum status run_attention(struct view *view, const struct options *options, const struct settings *s,
                                 struct error *err)
{
    const size_t heads = options_given(options, "n-head") ? s->n_head : 4;
    const size_t channels = options_given(options, "n-embd") ? s->n_embd : heads * 64;
    if (channels % heads != 0)
        return fail(err, STATUS_RANGE, "n_embd is %zu and n_head %zu: n_embd must be a multiple of n_head", channels,
                    heads);
    const struct bench_attention_options o = {
        .B = options_given(options, "batch-size") ? s->batch_size : 1,
        .H = heads,
        .hs = channels / heads,
        .T = s->attention,
        .team = compute_team(s->threads),
        .repeats = s->repeats,
        .bout = s->bout,
        .progress = progress,
        .context = view,
    };
    struct bench_attention results[BENCH_ATTENTION_KERNELS];
    begin(view, "attention");
    const enum status status = bench_attention_run(results, &o, err);
    terminal_clear(&view->err);
    if (!status && s->json)
        return command_print_json(bench_view_attention_json(results, &o), JSON_COMPACT, "bench", err);
    if (!status)
        bench_view_attention(stdout, results, &o);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct settings *s = settings;
    if (!options_given(options, "threads"))
        s->threads = (size_t)team_cores();
    struct view view = {.name = ""};
    terminal_open(&view.err, stderr);
    interrupt_catch();
    if (!s->json)
        bench_view_machine(stdout, compute_team(s->threads));
    return s->attention ? run_attention(&view, options, s, err) : run_shapes(&view, options, s, err);
}

const struct command cmd_bench = {
    .name = "bench",
    .group = COMMAND_TEST,
    .summary = "measures speed and memory, and the share of this machine's peak",
    .operands = "",
    .min_operands = 0,
    .max_operands = 0,
    .about =
        "Times whole training steps (forward, loss, backward, gradient norm, AdamW) on random symbols, and holds them "
        "against the rate that this machine reaches in large matrix products (2048 x 2048, one on every thread at "
        "once), measured in the same minutes. FLOP of a step are 6 for each token and parameter of the matrices and "
        "the output head, and 6 L T C a token for causal attention.\n"
        "\n"
        "Everything has its turn in every round, so that what else the machine does disturbs all alike; figures are "
        "medians. The table of operations is that of one thread of the team, with the "
        "stopwatch on; waiting is for the other threads, and for the team to start and end. Writing is one text, one "
        "symbol at a time.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
