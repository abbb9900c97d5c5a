/* nopeek generate: text from a saved model, symbol by symbol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/compute_rows.h"
#include "cli/saved.h"
#include "cli/stream.h"
#include "cli/terminal.h"
#include "cli/whole_text.h"
#include "model/decode.h"
#include "model/sample.h"
#include "text/numerals.h"
#include "train/sample_text.h"

struct settings {
    const char *prompt, *prompt_file, *stop;
    size_t n, samples, threads;
    struct sample_options sample;
};

static const struct option_spec options_table[] = {
    OPTION_SECTION("Text"),
    {.name = "prompt",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, prompt),
     .metavar = "TEXT",
     .help =
         "what the text begins with; it is written first. An empty one starts after a line end or, where the "
         "vocabulary has none, at a symbol drawn at random. Where the vocabulary is bare ids, text is such numbers: "
         "'12 7 3'"},
    {.name = "prompt-file",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings, prompt_file),
     .metavar = "FILE",
     .help = "read the prompt from a file, byte for byte; - is standard input"},
    {.name = "length",
     .letter = 'n',
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, n),
     .metavar = "N",
     .fallback = "500",
     .range = OPTION_BETWEEN(0, 4294967295.0),
     .help = "symbols to write after the prompt"},
    {.name = "stop",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, stop),
     .metavar = "TEXT",
     .help = "end where the model writes this; it is left out itself"},
    {.name = "num-samples",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, samples),
     .metavar = "N",
     .fallback = "1",
     .range = OPTION_BETWEEN(1, 4294967295.0),
     .help = "write N texts, computed side by side, each under a line that says which it is. The first is the one that "
             "N = 1 writes"},
    OPTION_SECTION("Choice of symbols, in this order"),
    {.name = "temperature",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, sample.temperature),
     .metavar = "T",
     .fallback = "0.8",
     .range = OPTION_AT_LEAST(0),
     .help = "below 1 is safer, above 1 bolder; 0 always takes the likeliest symbol, and tends to run in circles"},
    {.name = "top-k",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, sample.top_k),
     .metavar = "K",
     .fallback = "0",
     .help = "only the K likeliest symbols; 0 is off"},
    {.name = "top-p",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, sample.top_p),
     .metavar = "P",
     .fallback = "1",
     .range = OPTION_BETWEEN(0, 1),
     .help = "only the likeliest symbols that together reach probability P; 1 is off"},
    {.name = "min-p",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, sample.min_p),
     .metavar = "P",
     .fallback = "0",
     .range = OPTION_BETWEEN(0, 1),
     .help = "only symbols at least P times as likely as the likeliest; 0 is off"},
    {.name = "seed",
     .type = OPTION_SEED,
     .offset = offsetof(struct settings, sample.seed),
     .metavar = "N",
     .fallback = "1",
     .help = "the same seed writes the same text"},
    OPTION_SECTION("Machine"),
    COMPUTE_ROW_THREADS(offsetof(struct settings, threads), "threads to compute with"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"A thousand symbols from a run", "generate run -n 1000"},
    {"Go on from a beginning, up to the end of the line", "generate run --prompt 'The bank of the' --stop $'\\n'"},
    {"The likeliest text", "generate run --temperature 0 -n 200"},
    {"Ten ways to go on", "generate run --prompt 'The bank of the' --num-samples 10 -n 100"},
    {NULL, NULL},
};

struct prompt {
    struct whole_text text;
    uint32_t *ids;
    size_t count;
};

/* Bare ids as they are written: each with a blank before it. NULL when memory is refused. */
static char *spell_ids(const struct tokenizer *t, const uint32_t *ids, size_t n)
{
    char *text = calloc(n * (TOKENIZER_SYMBOL_SIZE + 1) + 1, 1), *at = text;
    for (size_t i = 0; text && i < n; i++) {
        uint8_t symbol[TOKENIZER_SYMBOL_SIZE];
        const size_t length = tokenizer_decode(t, ids[i], symbol);
        *at++ = ' ';
        memcpy(at, symbol, length);
        at += length;
    }
    return text;
}

/* *written, to be freed, is the stop string as the text will have it; NULL for none. */
static enum status read_stop(char **written, const char *stop, const struct tokenizer *t, struct error *err)
{
    *written = NULL;
    if (!stop)
        return STATUS_OK;
    /* What the model cannot write would never stop it. */
    uint32_t *ids = NULL;
    size_t n;
    const enum status s = tokenizer_encode(t, &ids, &n, (const uint8_t *)stop, strlen(stop), "--stop", err);
    if (s != STATUS_OK)
        return s;
    if (n > 0)
        *written = t->kind == TOKENIZER_IDS ? spell_ids(t, ids, n) : strdup(stop);
    free(ids);
    if (n == 0)
        return fail(err, STATUS_USAGE, "--stop: found \"%s\", expected at least one %s", stop, tokenizer_unit(t->kind));
    return *written ? STATUS_OK : fail(err, STATUS_MEMORY, "out of memory");
}

/* The blank before a number is its own, as the stop string's are; white space at the prompt's end would double it. */
static void trim_prompt(struct prompt *p)
{
    while (p->text.size > 0 && numerals_is_space((uint8_t)p->text.bytes[p->text.size - 1]))
        p->text.size--;
}

/* Texts that are computed at once, at most: more would need more memory and gain no speed. */
#define TOGETHER 32

/* One text of a group. The only one there is goes straight to standard output; one of several waits in memory for
 * those before it. */
struct text {
    struct stream stream;
    FILE *file; /* NULL: standard output */
    char *bytes;
    size_t size;
    bool begun, ended; /* begun: something stands before the next symbol */
};

/* Everything the loop works with. */
struct writer {
    const struct settings *settings;
    const struct tokenizer *tokenizer;
    const struct prompt *prompt;
    const char *stop; /* as the text has it, or NULL */
    struct sample_options sample;
    struct decode decode;
    struct sample_scratch scratch;
    size_t V;
    size_t first, count, printed; /* the group under way, and how many of it are out */
    struct text text[TOGETHER];
    size_t rows;                                 /* texts of the group that go on */
    uint32_t row_text[TOGETHER], next[TOGETHER]; /* (rows): which text, and its next symbol */
};

static void end_text(struct text *t)
{
    stream_end(&t->stream);
    t->ended = true;
}

/* Writes the row's next symbol; that may be the last one. */
static void write_symbol(struct writer *w, size_t row)
{
    struct text *t = &w->text[w->row_text[row]];
    uint8_t bytes[1 + TOKENIZER_SYMBOL_SIZE] = " ";
    const size_t blank = w->tokenizer->kind == TOKENIZER_IDS && t->begun;
    t->ended = stream_put(&t->stream, bytes + !blank, blank + tokenizer_decode(w->tokenizer, w->next[row], bytes + 1));
    t->begun = true;
}

/* Takes the texts that have ended out of the batch. The last row takes the place of one that goes. */
static void drop_ended(struct writer *w)
{
    for (size_t row = w->rows; row-- > 0;) {
        if (!w->text[w->row_text[row]].ended)
            continue;
        if (w->rows > 1)
            decode_drop(&w->decode, row);
        w->rows--;
        w->row_text[row] = w->row_text[w->rows];
        w->next[row] = w->next[w->rows];
    }
}

/* Prints what is complete, in order. */
static enum status print_ended(struct writer *w, struct error *err)
{
    for (; w->printed < w->count && w->text[w->printed].ended && w->text[0].file; w->printed++) {
        const struct text *t = &w->text[w->printed];
        if (fflush(t->file) != 0)
            return fail(err, STATUS_MEMORY, "out of memory for %zu texts", w->count);
        printf("--- %zu of %zu ---\n", w->first + w->printed + 1, w->settings->samples);
        fwrite(t->bytes, 1, t->size, stdout);
        if (t->size == 0 || t->bytes[t->size - 1] != '\n')
            putchar('\n');
        fflush(stdout);
    }
    return ferror(stdout) ? command_flush(err) : STATUS_OK;
}

/* Begins all texts of the group. Returns the logits of their next symbols, one row or a row each (*stride apart), and
 * counts the symbols that have been written. */
static const real *begin(struct writer *w, size_t *stride, size_t *written)
{
    const struct settings *s = w->settings;
    const struct prompt *p = w->prompt;
    const real *logits = NULL;
    decode_reset(&w->decode);
    if (p->count > 0)
        logits = decode_append(&w->decode, p->ids, p->count);
    decode_fork(&w->decode, w->rows);
    *stride = 0;
    *written = 0;
    if (p->count > 0 || s->n == 0)
        return logits;
    for (size_t row = 0; row < w->rows; row++)
        w->next[row] = sample_text_start(w->tokenizer, s->sample.seed, (uint32_t)(w->first + row));
    uint32_t id;
    const bool line_end = w->tokenizer->kind != TOKENIZER_IDS && tokenizer_find(w->tokenizer, '\n', &id);
    for (size_t row = 0; row < w->rows && !line_end; row++)
        write_symbol(w, row); /* a drawn symbol is the text's first */
    drop_ended(w);
    *stride = w->V;
    *written = !line_end;
    return w->rows > 0 ? decode_step(&w->decode, w->next) : NULL;
}

/* The loop: choose, write, append. A text ends early at the stop string, all do when nobody can read any more. */
static enum status write_texts(struct writer *w, struct error *err)
{
    const struct settings *s = w->settings;
    size_t stride, written;
    const real *logits = begin(w, &stride, &written);
    for (; written < s->n && w->rows > 0; written++) {
        for (size_t row = 0; row < w->rows; row++) {
            const uint32_t sample = (uint32_t)(w->first + w->row_text[row]);
            const enum status status = sample_choose(&w->next[row], logits + row * stride, w->V, &w->sample, sample,
                                                     (uint32_t)written, &w->scratch, err);
            if (status != STATUS_OK)
                return status;
            write_symbol(w, row);
        }
        drop_ended(w);
        const enum status status = print_ended(w, err);
        if (status != STATUS_OK)
            return status;
        if (written + 1 < s->n && w->rows > 0)
            logits = decode_step(&w->decode, w->next);
        stride = w->V;
    }
    for (size_t row = 0; row < w->rows; row++)
        end_text(&w->text[w->row_text[row]]);
    return print_ended(w, err);
}

static enum status open_text(struct writer *w, size_t k, struct error *err)
{
    struct text *t = &w->text[k];
    *t = (struct text){0};
    if (w->settings->samples > 1) {
        t->file = open_memstream(&t->bytes, &t->size);
        if (!t->file)
            return fail(err, STATUS_MEMORY, "out of memory for %zu texts", w->count);
    }
    FILE *out = t->file ? t->file : stdout;
    fwrite(w->prompt->text.bytes, 1, w->prompt->text.size, out);
    fflush(out);
    t->begun = w->prompt->text.size > 0;
    const enum status s = stream_open(&t->stream, out, w->stop, err);
    t->stream.whole = w->tokenizer->kind == TOKENIZER_IDS;
    return s;
}

static void close_text(struct text *t)
{
    stream_free(&t->stream);
    if (t->file)
        fclose(t->file);
    free(t->bytes);
    *t = (struct text){0};
}

/* As many texts as there is room for, from `first` on. */
static enum status write_group(struct writer *w, size_t first, struct error *err)
{
    const size_t left = w->settings->samples - first;
    w->first = first;
    w->count = w->rows = left < TOGETHER ? left : TOGETHER;
    w->printed = 0;
    enum status s = STATUS_OK;
    for (size_t k = 0; k < w->count && s == STATUS_OK; k++) {
        w->row_text[k] = (uint32_t)k;
        s = open_text(w, k, err);
    }
    if (s == STATUS_OK)
        s = write_texts(w, err);
    for (size_t k = 0; k < w->count; k++)
        close_text(&w->text[k]);
    return s;
}

static enum status generate(struct writer *w, const struct gpt *model, struct error *err)
{
    const size_t block = model->config.block_size, samples = w->settings->samples;
    const struct prompt *p = w->prompt;
    struct arena arena = {0};
    struct terminal notes;
    terminal_open(&notes, stderr);
    sample_layout(&w->scratch, &arena, w->V);
    enum status s = arena_place(&arena, err);
    if (s != STATUS_OK)
        return s;
    sample_layout(&w->scratch, &arena, w->V);
    s = decode_create(&w->decode, model, samples < TOGETHER ? samples : TOGETHER, compute_team(w->settings->threads),
                      err);
    if (s == STATUS_OK) {
        if (p->count > block)
            terminal_entry(&notes,
                           "note: ", "the prompt has %zu symbols and the context holds %zu: only the last %zu count",
                           p->count, block, block);
        for (size_t first = 0; first < samples && s == STATUS_OK; first += TOGETHER)
            s = write_group(w, first, err);
        decode_free(&w->decode);
        if (samples == 1 && (w->tokenizer->kind == TOKENIZER_IDS || isatty(STDOUT_FILENO)))
            putchar('\n');
    }
    arena_free(&arena);
    return s;
}

static enum status with_prompt(struct writer *w, const struct saved *saved, struct error *err)
{
    const struct tokenizer *t = w->tokenizer;
    bool *silent;
    const enum status s = tokenizer_silent(&silent, t, err);
    if (s != STATUS_OK)
        return s;
    struct terminal notes;
    terminal_open(&notes, stderr);
    w->sample = w->settings->sample;
    w->sample.never = silent;
    saved_warn(saved);
    if (silent)
        terminal_entry(&notes, "note: ", "%zu of the %zu ids stand for nothing, and are never drawn",
                       t->size - tokenizer_count(t), t->size);
    const enum status status = generate(w, &saved->checkpoint.model, err);
    free(silent);
    return status;
}

static enum status with_model(struct prompt *p, const struct settings *settings, const struct saved *saved,
                              struct error *err)
{
    struct writer w = {.settings = settings, .tokenizer = &saved->checkpoint.tokenizer, .prompt = p};
    w.V = w.tokenizer->size;
    enum status s = sample_check(&settings->sample, err);
    if (s != STATUS_OK)
        return s;
    char *stop;
    s = read_stop(&stop, settings->stop, w.tokenizer, err);
    if (s != STATUS_OK)
        return s;
    w.stop = stop;
    if (w.tokenizer->kind == TOKENIZER_IDS)
        trim_prompt(p);
    uint32_t *ids = NULL;
    size_t count = 0;
    s = tokenizer_encode(w.tokenizer, &ids, &count, (const uint8_t *)p->text.bytes, p->text.size, p->text.name, err);
    if (s == STATUS_OK) {
        p->ids = ids;
        p->count = count;
        s = with_prompt(&w, saved, err);
    }
    free(stop);
    return s;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    const struct settings *chosen = settings;
    struct prompt p = {0};
    struct saved saved;
    enum status s = whole_text_read(&p.text, chosen->prompt, "--prompt", chosen->prompt_file, "--prompt-file", err);
    if (s == STATUS_OK)
        s = saved_open(&saved, options->operand[0], err);
    if (s == STATUS_OK) {
        s = with_model(&p, chosen, &saved, err);
        saved_close(&saved);
    }
    free(p.ids);
    whole_text_free(&p.text);
    return s;
}

const struct command cmd_generate = {
    .name = "generate",
    .group = COMMAND_MAKE,
    .summary = "writes text with a saved model",
    .operands = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .about =
        "Writes the prompt and what the model makes of it to standard output, as it comes. RUN is a run directory, "
        "whose latest checkpoint is taken, or one checkpoint folder, such as RUN/best.\n\nText of any length can "
        "be written: once the context is full it slides along, one symbol at a time. A text that goes in circles "
        "needs a higher temperature.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
