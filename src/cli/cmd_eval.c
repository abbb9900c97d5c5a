/* nopeek eval: the exact loss of a saved model over a text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/compute_rows.h"
#include "cli/eval_logits.h"
#include "cli/human.h"
#include "cli/reading.h"
#include "cli/saved.h"
#include "cli/terminal.h"
#include "io/metrics.h"
#include "text/dataset.h"
#include "train/evaluate.h"

struct settings {
    int part;
    size_t stride, threads;
    int precision; /* enum precision */
    double val_split;
    const char *logits;
    bool json;
};

static const char *const parts[] = {"all", "train", "val", NULL}; /* as enum dataset_part */

static const struct option_spec options_table[] = {
    {.name = "part",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct settings, part),
     .metavar = "PART",
     .fallback = "all",
     .choices = parts,
     .help = "which part of the text"},
    {.name = "val-split",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, val_split),
     .metavar = "SHARE",
     .fallback = "0.1",
     .fallback_note = "as the run was trained",
     .range = OPTION_FROM_BELOW(0, 1),
     .help = "where the val part begins: this share of the symbols, at the end"},
    {.name = "stride",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, stride),
     .metavar = "S",
     .fallback = "0",
     .fallback_note = "the context",
     .help = "symbols from one window to the next; a smaller one gives each prediction more context and takes longer. "
             "At most the context; 0 is the context"},
    COMPUTE_ROW_THREADS(offsetof(struct settings, threads), "threads to compute with"),
    COMPUTE_ROW_PRECISION(offsetof(struct settings, precision),
                          "what matrix products compute with; the exact loss is fp32's"),
    {.name = "logits",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings, logits),
     .metavar = "FILE",
     .help = "write the first window's tokens (T) and logits (T,V) into a safetensors file, to compare with another "
             "program's"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object: loss, bits_per_char, perplexity, tokens, and more"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"The loss on the text's last tenth, which training did not see", "eval run --part val"},
    {"The same with at least half the context before each prediction", "eval run --part val --stride 128"},
    {"Another text", "eval run other.txt"},
    {NULL, NULL},
};

/* What is being evaluated, and what came out. */
struct job {
    const struct settings *settings;
    struct saved saved;
    struct dataset data;
    size_t begin, end, T, stride;
    struct evaluation result;
    double bits_per_char;
    struct terminal terminal;
    double started;
};

/* The text: what the command line names, else the one that the run remembers, which must not have changed. */
static enum status open_text(struct job *j, const struct options *options, struct error *err)
{
    const bool given = options_given(options, "val-split");
    const double split = given ? j->settings->val_split : saved_val_split(&j->saved, j->settings->val_split);
    struct tokenizer *tokenizer = &j->saved.checkpoint.tokenizer;
    if (options->operands > 1)
        return reading_open(&j->data, tokenizer, options->operand + 1, options->operands - 1, split, err);
    return saved_text(&j->data, &j->saved, options->operand[0], split, "name it as TEXT", err);
}

/* Characters that were predicted: of UTF-8 taken as bytes, those bytes that begin one; of bare ids, none. */
static size_t count_characters(const struct job *j)
{
    const struct tokenizer *t = &j->saved.checkpoint.tokenizer;
    if (t->kind != TOKENIZER_BYTES)
        return t->kind == TOKENIZER_CHARS ? j->result.tokens : 0;
    size_t n = 0;
    for (size_t i = j->begin + 1; i < j->end; i++) {
        const uint32_t id = dataset_id(&j->data, i), byte = t->symbol ? t->symbol[id] : id;
        n += (byte & 0xC0u) != 0x80u;
    }
    return n;
}

static bool show_progress(void *context, size_t done, size_t windows)
{
    struct job *j = context;
    if (!j->terminal.live)
        return false;
    const double now = clock_seconds(), passed = now - j->started;
    char rate[HUMAN_SIZE], left[HUMAN_SIZE];
    if (done > 0)
        terminal_progress(&j->terminal, now, false, "%3.0f %%  %s symbols/s  %s left",
                          100 * (double)done / (double)windows, human_rate(rate, (double)(done * j->stride) / passed),
                          human_duration(left, passed * (double)(windows - done) / (double)done));
    return false;
}

static enum status measure(struct job *j, struct error *err)
{
    struct gpt *model = &j->saved.checkpoint.model;
    model->config.precision = (enum precision)j->settings->precision;
    const size_t rows = j->T < 2048 ? 2048 / j->T : 1, B = rows < 16 ? rows : 16;
    const struct team team = compute_team(j->settings->threads);
    struct work work;
    enum status s = work_create(&work, &model->config, B, j->T, false, team, err);
    if (s != STATUS_OK)
        return s;
    const struct evaluate_options o = {.T = j->T, .stride = j->stride, .stop = show_progress, .context = j};
    j->started = clock_seconds();
    s = evaluate(&j->result, model, &work, &j->data, j->begin, j->end, &o, err);
    terminal_clear(&j->terminal);
    work_free(&work);
    return s;
}

/* Positions are shown in ranges that double: 1, 2, 3-4, 5-8, ... */
struct range {
    size_t first, last, tokens; /* from 1 */
    double loss;
};

static bool next_range(struct range *r, const struct job *j)
{
    const size_t first = r->last + 1;
    if (first > j->T)
        return false;
    const size_t last = first <= 2 ? first : 2 * (first - 1);
    *r = (struct range){.first = first, .last = last < j->T ? last : j->T};
    for (size_t t = r->first; t <= r->last; t++) {
        r->tokens += j->result.position_count[t - 1];
        r->loss += j->result.position_loss[t - 1];
    }
    r->loss = r->tokens ? r->loss / (double)r->tokens : (double)NAN;
    return true;
}

static void print_text(const struct job *j)
{
    char tokens[HUMAN_SIZE], text[HUMAN_SIZE];
    const enum tokenizer_kind kind = j->saved.checkpoint.tokenizer.kind;
    printf("loss        %.4f nats per %s\n", j->result.loss, tokenizer_unit(kind));
    if (kind == TOKENIZER_IDS)
        printf("bits/id     %.4f\n", j->result.loss / log(2));
    else
        printf("bits/char   %.4f\n", j->bits_per_char);
    printf("perplexity  %.4f\n", exp(j->result.loss));
    printf("predicted   %s of %s symbols (part: %s)\n", human_count(tokens, j->result.tokens),
           human_count(text, j->data.count), parts[j->settings->part]);
    printf("context     %zu, windows %zu apart\n", j->T, j->stride);
    printf("\nposition        loss    symbols\n");
    for (struct range r = {0}; next_range(&r, j);) {
        char label[48];
        if (r.first == r.last)
            snprintf(label, sizeof label, "%zu", r.first);
        else
            snprintf(label, sizeof label, "%zu-%zu", r.first, r.last);
        if (r.tokens)
            printf("%-12s %7.4f %10s\n", label, r.loss, human_count(tokens, r.tokens));
    }
}

static enum status print_json(const struct job *j, struct error *err)
{
    json_t *positions = json_array();
    for (struct range r = {0}; positions && next_range(&r, j);)
        if (json_array_append_new(positions, json_pack("{s:I, s:I, s:o, s:I}", "first", (json_int_t)r.first, "last",
                                                       (json_int_t)r.last, "loss", metrics_number(r.loss), "tokens",
                                                       (json_int_t)r.tokens)) != 0) {
            json_decref(positions);
            positions = NULL; /* which no object can hold */
        }
    json_t *object = json_pack("{s:o, s:o, s:o, s:I, s:s, s:I, s:I, s:o, s:o}", "loss", metrics_number(j->result.loss),
                               "bits_per_char", metrics_number(j->bits_per_char), "perplexity",
                               metrics_number(exp(j->result.loss)), "tokens", (json_int_t)j->result.tokens, "part",
                               parts[j->settings->part], "context", (json_int_t)j->T, "stride", (json_int_t)j->stride,
                               "step", j->saved.has_state ? json_integer((json_int_t)j->saved.state.step) : json_null(),
                               "by_position", positions);
    return command_print_json(object, JSON_COMPACT, "eval", err);
}

static enum status evaluate_text(struct job *j, const char *run, struct error *err)
{
    dataset_bounds(&j->data, (enum dataset_part)j->settings->part, &j->begin, &j->end);
    if (j->end - j->begin < 2)
        return fail(err, STATUS_RANGE,
                    "eval: the %s part of the text has %zu symbols, expected at least 2: choose another --part or "
                    "--val-split, or a longer TEXT",
                    parts[j->settings->part], j->end - j->begin);
    j->stride = j->settings->stride ? j->settings->stride : j->T;
    if (j->stride > j->T)
        return fail(err, STATUS_USAGE, "--stride: found %zu, expected at most %zu, the context of %s", j->stride, j->T,
                    run);
    enum status s = measure(j, err);
    if (s == STATUS_OK && j->settings->logits)
        s = eval_logits(j->settings->logits, &j->saved.checkpoint.model, &j->data, j->begin, j->end,
                        compute_team(j->settings->threads), err);
    if (s == STATUS_OK) {
        const size_t characters = count_characters(j);
        j->bits_per_char =
            characters ? j->result.loss / log(2) * (double)j->result.tokens / (double)characters : (double)NAN;
        if (j->settings->json)
            s = print_json(j, err);
        else
            print_text(j);
    }
    return s;
}

/* What was read must outlive what is written. */
static enum status check_logits(const struct job *j, const struct options *options, struct error *err)
{
    const char *const output = j->settings->logits;
    const enum status s = saved_spares(&j->saved, output, "logits", err);
    if (s)
        return s;
    return reading_spares(output, "logits", options->operand + 1, options->operands - 1, err);
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct job j = {.settings = settings};
    terminal_open(&j.terminal, stderr);
    enum status s = saved_open(&j.saved, options->operand[0], err);
    if (s != STATUS_OK)
        return s;
    s = check_logits(&j, options, err);
    if (s == STATUS_OK)
        s = open_text(&j, options, err);
    const size_t T = j.saved.checkpoint.model.config.block_size;
    double *loss = calloc(T, sizeof *loss);
    size_t *count = calloc(T, sizeof *count);
    if (s == STATUS_OK && !(loss && count))
        s = fail(err, STATUS_MEMORY, "eval: out of memory");
    if (s == STATUS_OK) {
        j.T = T;
        j.result = (struct evaluation){.position_loss = loss, .position_count = count};
        saved_warn(&j.saved);
        s = evaluate_text(&j, options->operand[0], err);
    }
    free(loss);
    free(count);
    dataset_free(&j.data);
    saved_close(&j.saved);
    return s;
}

const struct command cmd_eval = {
    .name = "eval",
    .group = COMMAND_MAKE,
    .summary = "measures the exact loss of a saved model over a text",
    .operands = "RUN [TEXT ...]",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .about =
        "Reads the text in windows of the model's context length and counts each symbol but the first once. "
        "Without TEXT it is the text that the run was trained on. RUN is a run directory, whose latest checkpoint "
        "is taken, or one checkpoint folder, such as RUN/best.\n\nThe loss is in nats per symbol, lower is better; "
        "the table shows how it falls with the position in the window, that is, with more context.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
