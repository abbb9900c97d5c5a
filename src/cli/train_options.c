#include "cli/train_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/compute.h"

#define FIELD(f) .offset = offsetof(struct train_options, f)

static const char *const preset_names[] = {"none", "nano-cpu", "nano", NULL};
static const char *const mask_names[] = {"causal", "none", NULL};
static const char *const token_names[] = {"char", "byte", "ids", NULL};

/* clang-format off */
const struct option_spec train_options_table[] = {
    OPTION_SECTION("Run"),
    {.name = "out", .letter = 'o', .type = OPTION_PATH, FIELD(out), .metavar = "RUN", .fallback = "run",
     .help = "directory to write checkpoints and metrics.jsonl into"},
    {.name = "force", .type = OPTION_FLAG, FIELD(force),
     .help = "if RUN holds a run already, move that one aside (into RUN/old-1) and begin anew"},
    {.name = "resume", .type = OPTION_PATH, FIELD(resume), .metavar = "RUN",
     .help = "go on with a run from its last checkpoint, with its settings and text; ends with the same bits as a run "
             "that was never stopped"},
    {.name = "init-from", .type = OPTION_PATH, FIELD(init_from), .metavar = "RUN",
     .help = "begin a new run with the weights, sizes and vocabulary of another"},
    {.name = "dry-run", .type = OPTION_FLAG, FIELD(dry_run),
     .help = "say what would be done, how much memory it takes and how long, from a short measurement; write nothing"},
    {.name = "verify-resume", .type = OPTION_FLAG, FIELD(verify_resume),
     .help = "prove that resuming is exact: train some steps straight, and again in two halves with a save and a fresh "
             "start between them, and compare every bit; as many steps as --stop-after or --steps say, else 20. Writes "
             "into a folder in TMPDIR only, which is removed"},
    {.name = "preset", .type = OPTION_CHOICE, FIELD(preset), .metavar = "NAME", .fallback = "none",
     .choices = preset_names, .saved = "preset",
     .help = "nano-cpu and nano are nanoGPT's settings for a CPU and a GPU; with none, sizes are chosen to suit the text"},

    OPTION_SECTION("Model"),
    {.name = "n-layer", .type = OPTION_SIZE, FIELD(n_layer), .metavar = "L", .fallback = "4",
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4095), .saved = "n_layer", .help = "blocks, one after another"},
    {.name = "n-head", .type = OPTION_SIZE, FIELD(n_head), .metavar = "H", .fallback = "4",
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4095), .saved = "n_head",
     .help = "attention heads of a block; must divide the channels"},
    {.name = "n-embd", .type = OPTION_SIZE, FIELD(n_embd), .metavar = "C", .fallback = "128",
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 1048576), .saved = "n_embd", .help = "channels: numbers that stand for one symbol"},
    {.name = "block-size", .type = OPTION_SIZE, FIELD(block_size), .metavar = "T", .fallback = "64",
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 1073741824), .saved = "block_size",
     .help = "context: how many symbols the model sees at once"},
    {.name = "window", .type = OPTION_SIZE, FIELD(window), .metavar = "W", .fallback = "0",
     .fallback_note = "the whole context", .range = OPTION_BETWEEN(0, 1073741824), .saved = "window",
     .help = "attention sees the last W symbols only, itself included; other programs that read the checkpoint do not "
             "know of it"},
    {.name = "dropout", .type = OPTION_NUMBER, FIELD(dropout), .metavar = "P", .fallback = "0",
     .fallback_note = "0.1 below 200000 symbols, else 0", .range = OPTION_FROM_BELOW(0, 1), .saved = "dropout",
     .help = "share of numbers dropped in training: embeddings, attention weights, both branches"},
    {.name = "bias", .type = OPTION_FLAG, FIELD(bias), .saved = "bias",
     .help = "biases in linear layers and LayerNorms (default: none)"},
    {.name = "tied", .type = OPTION_FLAG, FIELD(tied), .fallback = "true", .saved = "tied",
     .help = "give the output a matrix of its own instead of the token embedding"},
    {.name = "mask", .type = OPTION_CHOICE, FIELD(mask), .metavar = "RULE", .fallback = "causal",
     .choices = mask_names, .saved = "mask",
     .help = "none leaves the causal mask out, to see what goes wrong; needs --allow-leak"},
    {.name = "allow-leak", .type = OPTION_FLAG, FIELD(allow_leak), .saved = "allow_leak",
     .help = "train although the leak check fails; the run is marked as leaky for good"},

    OPTION_SECTION("Text"),
    {.name = "tokens", .type = OPTION_CHOICE, FIELD(tokens), .metavar = "KIND", .fallback = "char",
     .choices = token_names, .saved = "tokens",
     .help = "a symbol is a Unicode character, or a byte (256 of them, any file), or TEXT is bare ids: whole numbers "
             "from 0, separated by white space; there are as many symbols as the largest id says, and one more"},
    {.name = "val-split", .type = OPTION_NUMBER, FIELD(val_split), .metavar = "SHARE", .fallback = "0.1",
     .range = OPTION_FROM_BELOW(0, 1), .saved = "val_split",
     .help = "share of the text, at its end, kept for validation"},

    OPTION_SECTION("Optimisation"),
    {.name = "steps", .type = OPTION_SIZE, FIELD(steps), .metavar = "N", .fallback = "2000",
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4294967295), .saved = "steps",
     .help = "optimizer updates"},
    {.name = "batch-size", .type = OPTION_SIZE, FIELD(batch_size), .metavar = "B", .fallback = "12",
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4294967295), .saved = "batch_size",
     .help = "windows in a micro-batch"},
    {.name = "grad-accum", .type = OPTION_SIZE, FIELD(grad_accum), .metavar = "N", .fallback = "1",
     .range = OPTION_BETWEEN(1, 4294967295), .saved = "grad_accum", .help = "micro-batches in a step"},
    {.name = "lr", .type = OPTION_NUMBER, FIELD(lr), .metavar = "RATE", .fallback = "3e-3",
     .range = OPTION_ABOVE(0), .saved = "lr", .help = "highest learning rate"},
    {.name = "min-lr", .type = OPTION_NUMBER, FIELD(min_lr), .metavar = "RATE", .fallback = "3e-5",
     .fallback_note = "lr / 100", .range = OPTION_AT_LEAST(0), .saved = "min_lr",
     .help = "learning rate at the end of the cosine"},
    {.name = "warmup", .type = OPTION_SIZE, FIELD(warmup), .metavar = "N", .fallback = "100",
     .fallback_note = "100, or a tenth of the steps", .saved = "warmup", .help = "steps of linear warm-up"},
    {.name = "weight-decay", .type = OPTION_NUMBER, FIELD(weight_decay), .metavar = "W", .fallback = "0.1",
     .range = OPTION_AT_LEAST(0), .saved = "weight_decay",
     .help = "AdamW's decay, on the blocks' matrices and an untied output only"},
    {.name = "beta1", .type = OPTION_NUMBER, FIELD(beta1), .metavar = "B", .fallback = "0.9",
     .range = OPTION_FROM_BELOW(0, 1), .saved = "beta1", .help = "AdamW's first decay rate"},
    {.name = "beta2", .type = OPTION_NUMBER, FIELD(beta2), .metavar = "B", .fallback = "0.99",
     .range = OPTION_FROM_BELOW(0, 1), .saved = "beta2", .help = "AdamW's second decay rate"},
    {.name = "grad-clip", .type = OPTION_NUMBER, FIELD(grad_clip), .metavar = "G", .fallback = "1",
     .range = OPTION_AT_LEAST(0), .saved = "grad_clip", .help = "largest gradient norm; 0 is off"},
    {.name = "seed", .type = OPTION_SEED, FIELD(seed), .metavar = "N", .fallback = "1", .saved = "seed",
     .help = "same seed, same thread count: same bits"},

    OPTION_SECTION("Work"),
    {.name = "threads", .type = OPTION_SIZE, FIELD(threads), .metavar = "N", .fallback = "1",
     .fallback_note = "the cores there are", .range = OPTION_BETWEEN(1, 1024), .saved = "threads",
     .help = "threads of our own team; OpenBLAS is kept to one each"},
    {.name = "precision", .type = OPTION_CHOICE, FIELD(precision), .metavar = "NAME", .fallback = "fp32",
     .choices = compute_precisions, .saved = "precision",
     .help = "what matrix products compute with; weights, their updates and checkpoints are fp32 all the same"},
    {.name = "max-time", .type = OPTION_NUMBER, FIELD(max_time), .metavar = "SECONDS", .fallback = "0",
     .range = OPTION_AT_LEAST(0), .help = "save and end after so long; 0 is off"},
    {.name = "stop-after", .type = OPTION_SIZE, FIELD(stop_after), .metavar = "N", .fallback = "0",
     .help = "save after step N and end, the schedule unchanged; 0 is off"},

    OPTION_SECTION("Looking and saving"),
    {.name = "eval-interval", .type = OPTION_SIZE, FIELD(eval_interval), .metavar = "N", .fallback = "250",
     .fallback_note = "250; 100 below 5000 symbols",
     .saved = "eval_interval",
     .help = "steps between evaluations (losses, leak check, heads, a sample, a checkpoint); 0: only at the end"},
    {.name = "eval-windows", .type = OPTION_SIZE, FIELD(eval_windows), .metavar = "N", .fallback = "240",
     .range = OPTION_AT_LEAST(1), .saved = "eval_windows",
     .help = "windows of each part that an evaluation reads, evenly spread"},
    {.name = "log-interval", .type = OPTION_SIZE, FIELD(log_interval), .metavar = "N", .fallback = "10",
     .range = OPTION_AT_LEAST(1), .saved = "log_interval", .help = "steps between records of metrics.jsonl"},
    {.name = "save-every", .type = OPTION_SIZE, FIELD(save_every), .metavar = "N", .fallback = "0",
     .saved = "save_every", .help = "steps between checkpoints beside those of evaluations; 0: none"},
    {.name = "keep", .type = OPTION_SIZE, FIELD(keep), .metavar = "N", .fallback = "2", .saved = "keep",
     .help = "checkpoints to keep, the newest; the best one always stays; 0: all"},
    {.name = "sample-size", .type = OPTION_SIZE, FIELD(sample_size), .metavar = "N", .fallback = "120",
     .range = OPTION_BETWEEN(0, 1000000), .saved = "sample_size", .help = "symbols of the sample at an evaluation"},
    OPTION_END,
};
/* clang-format on */

static const struct train_preset nano_cpu[] = {
    {"n-layer", "4"},  {"n-head", "4"},   {"n-embd", "128"},       {"block-size", "64"}, {"batch-size", "12"},
    {"steps", "2000"}, {"dropout", "0"},  {"bias", "false"},       {"lr", "1e-3"},       {"min-lr", "1e-4"},
    {"warmup", "100"}, {"beta2", "0.99"}, {"weight-decay", "0.1"}, {"grad-clip", "1"},   {NULL, NULL},
};

static const struct train_preset nano[] = {
    {"n-layer", "6"},  {"n-head", "6"},    {"n-embd", "384"},       {"block-size", "256"}, {"batch-size", "64"},
    {"steps", "5000"}, {"dropout", "0.2"}, {"bias", "false"},       {"lr", "1e-3"},        {"min-lr", "1e-4"},
    {"warmup", "100"}, {"beta2", "0.99"},  {"weight-decay", "0.1"}, {"grad-clip", "1"},    {NULL, NULL},
};

static enum status set_all(struct options *o, const struct train_preset *values, const char *origin, struct error *err)
{
    for (; values->option; values++) {
        const enum status s = options_set(o, values->option, values->value, OPTIONS_PRESET, origin, err);
        if (s)
            return s;
    }
    return STATUS_OK;
}

const struct train_preset *train_options_values(const char *preset)
{
    return strcmp(preset, "nano-cpu") == 0 ? nano_cpu : strcmp(preset, "nano") == 0 ? nano : NULL;
}

enum status train_options_preset(struct options *o, struct train_options *t, struct error *err)
{
    if (t->preset == 0)
        return STATUS_OK;
    char origin[32];
    snprintf(origin, sizeof origin, "preset %s", preset_names[t->preset]);
    return set_all(o, train_options_values(preset_names[t->preset]), origin, err);
}

enum status train_options_suit(struct options *o, struct train_options *t, size_t symbols, struct error *err)
{
    /* Few symbols want a small model and few passes, or it learns them by heart. */
    static const struct {
        size_t below;
        struct train_preset values[9];
    } sizes[] = {
        {5000,
         {{"n-layer", "2"},
          {"n-head", "2"},
          {"n-embd", "32"},
          {"block-size", "32"},
          {"batch-size", "12"},
          {"steps", "600"},
          {"eval-interval", "100"},
          {"dropout", "0.1"},
          {NULL, NULL}}},
        {20000,
         {{"n-layer", "2"},
          {"n-head", "2"},
          {"n-embd", "64"},
          {"block-size", "64"},
          {"batch-size", "12"},
          {"steps", "1000"},
          {"dropout", "0.1"},
          {NULL, NULL}}},
        {200000,
         {{"n-layer", "3"},
          {"n-head", "4"},
          {"n-embd", "96"},
          {"block-size", "64"},
          {"batch-size", "12"},
          {"steps", "1500"},
          {"dropout", "0.1"},
          {NULL, NULL}}},
        {(size_t)-1,
         {{"n-layer", "4"},
          {"n-head", "4"},
          {"n-embd", "128"},
          {"block-size", "64"},
          {"batch-size", "12"},
          {"steps", "2000"},
          {NULL, NULL}}},
    };
    size_t i = 0;
    while (symbols >= sizes[i].below && i + 1 < sizeof sizes / sizeof *sizes)
        i++;
    const enum status s = set_all(o, sizes[i].values, "sizes that suit the text", err);
    /* A context must leave room for its target. */
    if (!s && options_source(o, "block-size") == OPTIONS_PRESET && symbols >= 2 && t->block_size > symbols - 1)
        t->block_size = symbols - 1;
    return s;
}

struct config train_options_config(const struct train_options *t, size_t vocab_size)
{
    struct config c = config_make(t->n_layer, t->n_head, t->n_embd, t->block_size, vocab_size);
    c.dropout = t->dropout;
    c.bias = t->bias;
    c.tied = t->tied;
    c.precision = (enum precision)t->precision;
    c.window = t->window;
    c.declared = t->window > 0 ? ATTENTION_WINDOW : ATTENTION_CAUSAL;
    c.trained = t->mask == TRAIN_MASK_NONE ? ATTENTION_FULL : c.declared;
    return c;
}

struct trainer_settings train_options_settings(const struct train_options *t)
{
    return (struct trainer_settings){
        .schedule = {.lr = t->lr, .min_lr = t->min_lr, .warmup = t->warmup, .steps = t->steps},
        .batch_size = t->batch_size,
        .grad_accum = t->grad_accum,
        .weight_decay = t->weight_decay,
        .beta1 = t->beta1,
        .beta2 = t->beta2,
        .grad_clip = t->grad_clip,
        .seed = t->seed,
        .team = compute_team(t->threads),
        .eval_interval = t->eval_interval,
        .eval_windows = t->eval_windows,
        .log_interval = t->log_interval,
        .save_every = t->save_every,
        .keep = t->keep,
        .stop_after = t->stop_after,
        .max_time = t->max_time,
        .sample_size = t->sample_size,
        .allow_leak = t->allow_leak,
    };
}
