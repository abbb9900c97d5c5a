/* nopeek generate: text from a saved model, symbol by symbol. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/team.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/saved.h"
#include "cli/stream.h"
#include "model/decode.h"
#include "model/sample.h"
#include "train/sample_text.h"

struct settings {
    const char *prompt, *prompt_file, *stop;
    size_t n, threads;
    struct sample_options sample;
};

static const struct option_spec options_table[] = {
    OPTION_SECTION("Text"),
    {.name = "prompt",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, prompt),
     .metavar = "TEXT",
     .help = "what the text begins with; it is written first. An empty one starts after a line end or, where the "
             "vocabulary has none, at a symbol drawn at random"},
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
    {.name = "threads",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, threads),
     .metavar = "N",
     .fallback = "0",
     .fallback_note = "one per core",
     .range = OPTION_BETWEEN(0, 1024),
     .help = "threads to compute with"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"A thousand symbols from a run", "generate run -n 1000"},
    {"Go on from a beginning, up to the end of the line", "generate run --prompt 'The bank of the' --stop $'\\n'"},
    {"The likeliest text", "generate run --temperature 0 -n 200"},
    {NULL, NULL},
};

struct prompt {
    char *bytes;
    size_t size;
    const char *name; /* for messages */
    uint32_t *ids;
    size_t count;
};

static enum status read_all(struct prompt *p, FILE *f, struct error *err)
{
    size_t room = 0;
    for (;;) {
        if (p->size == room) {
            room = room ? 2 * room : 4096;
            char *grown = realloc(p->bytes, room);
            if (!grown)
                return fail(err, STATUS_MEMORY, "--prompt-file: %s: out of memory", p->name);
            p->bytes = grown;
        }
        const size_t n = fread(p->bytes + p->size, 1, room - p->size, f);
        p->size += n;
        if (n == 0)
            break;
    }
    return ferror(f) ? fail(err, STATUS_READ, "--prompt-file: %s: %s", p->name, strerror(errno)) : STATUS_OK;
}

static enum status read_prompt(struct prompt *p, const struct settings *s, struct error *err)
{
    if (s->prompt && s->prompt_file)
        return fail(err, STATUS_USAGE, "generate: --prompt and --prompt-file exclude one another: give one");
    if (!s->prompt_file) {
        p->name = "--prompt";
        p->bytes = strdup(s->prompt ? s->prompt : "");
        p->size = p->bytes ? strlen(p->bytes) : 0;
        return p->bytes ? STATUS_OK : fail(err, STATUS_MEMORY, "out of memory");
    }
    const bool standard = strcmp(s->prompt_file, "-") == 0;
    p->name = standard ? "standard input" : s->prompt_file;
    FILE *f = standard ? stdin : fopen(s->prompt_file, "rb");
    if (!f)
        return fail(err, STATUS_OPEN, "--prompt-file: %s: %s", p->name, strerror(errno));
    const enum status status = read_all(p, f, err);
    if (!standard)
        fclose(f);
    return status;
}

static enum status check_stop(const char *stop, const struct tokenizer *t, struct error *err)
{
    if (!stop)
        return STATUS_OK;
    if (stop[0] == '\0')
        return fail(err, STATUS_USAGE, "--stop: found \"\", expected at least one character");
    /* What the model cannot write would never stop it. */
    uint32_t *ids = NULL;
    size_t n;
    const enum status s = tokenizer_encode(t, &ids, &n, (const uint8_t *)stop, strlen(stop), "--stop", err);
    free(ids);
    return s;
}

/* Everything the loop works with. */
struct writer {
    const struct settings *settings;
    const struct tokenizer *tokenizer;
    struct decode decode;
    struct sample_scratch scratch;
    struct stream stream;
    size_t V;
};

static bool write_symbol(struct writer *w, uint32_t id)
{
    uint8_t bytes[4];
    return stream_put(&w->stream, bytes, tokenizer_decode(w->tokenizer, id, bytes));
}

/* The loop: choose, write, append. Ends early at the stop string, or when nobody can read any more. */
static enum status write_text(struct writer *w, const struct prompt *p, struct error *err)
{
    const struct settings *s = w->settings;
    size_t written = 0;
    uint32_t next;
    const real *logits = NULL;
    if (p->count > 0) {
        logits = decode_append(&w->decode, p->ids, p->count);
    } else if (s->n > 0) {
        next = sample_text_start(w->tokenizer, s->sample.seed);
        uint8_t bytes[4];
        const bool line_end = tokenizer_decode(w->tokenizer, next, bytes) == 1 && bytes[0] == '\n';
        if (!line_end && write_symbol(w, next)) /* a drawn symbol is the text's first */
            return STATUS_OK;
        written = !line_end;
        logits = decode_append(&w->decode, &next, 1);
    }
    for (; written < s->n; written++) {
        if (ferror(stdout))
            return command_flush(err);
        const enum status status =
            sample_choose(&next, logits, w->V, &s->sample, 0, (uint32_t)written, &w->scratch, err);
        if (status != STATUS_OK)
            return status;
        if (write_symbol(w, next))
            return STATUS_OK;
        if (written + 1 < s->n)
            logits = decode_append(&w->decode, &next, 1);
    }
    stream_end(&w->stream);
    return STATUS_OK;
}

static enum status generate(struct writer *w, const struct prompt *p, const struct gpt *model, struct error *err)
{
    const size_t block = model->config.block_size;
    const struct team team = compute_team(w->settings->threads);
    struct arena arena = {0};
    sample_layout(&w->scratch, &arena, w->V);
    enum status s = arena_place(&arena, err);
    if (s != STATUS_OK)
        return s;
    sample_layout(&w->scratch, &arena, w->V);
    s = stream_open(&w->stream, stdout, w->settings->stop, err);
    if (s == STATUS_OK)
        s = decode_create(&w->decode, model, 1, team, err);
    if (s == STATUS_OK) {
        if (p->count > block)
            fprintf(stderr, "note: the prompt has %zu symbols and the context holds %zu: only the last %zu count\n",
                    p->count, block, block);
        fwrite(p->bytes, 1, p->size, stdout);
        fflush(stdout);
        s = write_text(w, p, err);
        decode_free(&w->decode);
        if (isatty(STDOUT_FILENO))
            putchar('\n');
    }
    stream_free(&w->stream);
    arena_free(&arena);
    return s;
}

static enum status with_model(struct prompt *p, const struct settings *settings, const struct saved *saved,
                              struct error *err)
{
    struct writer w = {.settings = settings, .tokenizer = &saved->checkpoint.tokenizer};
    w.V = w.tokenizer->size;
    enum status s = sample_check(&settings->sample, err);
    if (s == STATUS_OK)
        s = check_stop(settings->stop, w.tokenizer, err);
    uint32_t *ids = NULL;
    size_t count = 0;
    if (s == STATUS_OK)
        s = tokenizer_encode(w.tokenizer, &ids, &count, (const uint8_t *)p->bytes, p->size, p->name, err);
    if (s != STATUS_OK)
        return s;
    p->ids = ids;
    p->count = count;
    saved_warn(saved);
    return generate(&w, p, &saved->checkpoint.model, err);
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct prompt p = {0};
    struct saved saved;
    enum status s = read_prompt(&p, settings, err);
    if (s == STATUS_OK)
        s = saved_open(&saved, options->operand[0], err);
    if (s == STATUS_OK) {
        s = with_model(&p, settings, &saved, err);
        saved_close(&saved);
    }
    free(p.ids);
    free(p.bytes);
    return s;
}

const struct command cmd_generate = {
    .name = "generate",
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
