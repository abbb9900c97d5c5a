#include "cli/train_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/compute.h"
#include "cli/train_rows.h"

const char *const train_options_presets[] = {"none", "nano-cpu", "nano", NULL};
const char *const train_options_masks[] = {"causal", "none", NULL};
const char *const train_options_tokens[] = {"char", "byte", "ids", NULL};

/* clang-format off */
const struct option_spec train_options_table[] = {
    OPTION_SECTION("Run"),
    {.name = "out", .letter = 'o', .type = OPTION_PATH, TRAIN_FIELD(out), .metavar = "RUN", .fallback = "run",
     .help = "directory to write checkpoints and metrics.jsonl into"},
    {.name = "force", .type = OPTION_FLAG, TRAIN_FIELD(force),
     .help = "if RUN holds a run already, move that one aside (into RUN/old-1) and begin anew"},
    {.name = "resume", .type = OPTION_PATH, TRAIN_FIELD(resume), .metavar = "RUN",
     .help = "go on with a run from its last checkpoint, with its settings and text; ends with the same bits as a run "
             "that was never stopped"},
    TRAIN_ROW_INIT_FROM,
    {.name = "dry-run", .type = OPTION_FLAG, TRAIN_FIELD(dry_run),
     .help = "say what would be done, how much memory it takes and how long, from a short measurement; write nothing"},
    {.name = "verify-resume", .type = OPTION_FLAG, TRAIN_FIELD(verify_resume),
     .help = "prove that resuming is exact: train some steps straight, and again in two halves with a save and a fresh "
             "start between them, and compare every bit; as many steps as --stop-after or --steps say, else 20. Writes "
             "into a folder in TMPDIR only, which is removed"},
    TRAIN_ROW_PRESET,

    OPTION_SECTION("Model"),
    TRAIN_ROWS_MODEL,

    OPTION_SECTION("Text"),
    TRAIN_ROWS_TEXT,

    OPTION_SECTION("Optimisation"),
    TRAIN_ROWS_OPTIMISATION,

    OPTION_SECTION("Work"),
    TRAIN_ROWS_COMPUTE,
    {.name = "max-time", .type = OPTION_NUMBER, TRAIN_FIELD(max_time), .metavar = "SECONDS", .fallback = "0",
     .range = OPTION_AT_LEAST(0), .help = "save and end after so long; 0 is off"},
    {.name = "stop-after", .type = OPTION_SIZE, TRAIN_FIELD(stop_after), .metavar = "N", .fallback = "0",
     .help = "save after step N and end, the schedule unchanged; 0 is off"},

    OPTION_SECTION("Looking and saving"),
    TRAIN_ROWS_EVALUATION,
    {.name = "log-interval", .type = OPTION_SIZE, TRAIN_FIELD(log_interval), .metavar = "N", .fallback = "10",
     .range = OPTION_AT_LEAST(1), .saved = "log_interval", .help = "steps between records of metrics.jsonl"},
    {.name = "save-every", .type = OPTION_SIZE, TRAIN_FIELD(save_every), .metavar = "N", .fallback = "0",
     .saved = "save_every", .help = "steps between checkpoints beside those of evaluations; 0: none"},
    {.name = "keep", .type = OPTION_SIZE, TRAIN_FIELD(keep), .metavar = "N", .fallback = "2", .saved = "keep",
     .help = "checkpoints to keep, the newest; the best one always stays; 0: all"},
    TRAIN_ROW_SAMPLE,
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
    snprintf(origin, sizeof origin, "preset %s", train_options_presets[t->preset]);
    return set_all(o, train_options_values(train_options_presets[t->preset]), origin, err);
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
