/* nopeek corpus: a synthetic text, and what it tells per character. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/human.h"
#include "cli/shell_word.h"
#include "cli/terminal.h"
#include "io/commit.h"
#include "io/json_text.h"
#include "text/bank.h"
#include "text/corpus.h"

struct settings {
    const char *out;
    size_t size;
    uint64_t seed;
    double val_split;
    bool force, json;
};

static const struct option_spec options_table[] = {
    {.name = "out",
     .letter = 'o',
     .type = OPTION_PATH,
     .offset = offsetof(struct settings, out),
     .metavar = "TEXT",
     .help = "write the text to this file, and its entropy to a .json file beside it; without it the text goes to "
             "standard output"},
    {.name = "size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, size),
     .metavar = "N",
     .fallback = "600000",
     .range = OPTION_BETWEEN(1, 1000000000),
     .help = "characters to write; the last story is finished"},
    {.name = "seed",
     .type = OPTION_SEED,
     .offset = offsetof(struct settings, seed),
     .metavar = "N",
     .fallback = "1",
     .help = "the same seed gives the same text"},
    {.name = "val-split",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, val_split),
     .metavar = "SHARE",
     .fallback = "0.1",
     .range = OPTION_INSIDE(0, 1),
     .help = "the validation part whose entropy is stated, as in train"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "replace files that exist"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print the description as one JSON object (needs -o)"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"Write the text that comes with nopeek again", "corpus -o bank.txt"},
    {"Look at another one", "corpus --seed 7 --size 2000"},
    {NULL, NULL},
};

/* TEXT.txt -> TEXT.json, anything else -> TEXT.json appended. NULL when memory is refused. */
static char *description_path(const char *text)
{
    size_t n = strlen(text);
    if (n > 4 && strcmp(text + n - 4, ".txt") == 0)
        n -= 4;
    const size_t size = n + sizeof ".json";
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%.*s.json", (int)n, text);
    return path;
}

static enum status check_absent(const char *path, struct error *err)
{
    struct stat about;
    if (stat(path, &about) == 0)
        return fail(err, STATUS_USAGE, "corpus: %s exists: choose another -o, or --force to replace it", path);
    if (errno != ENOENT)
        return fail(err, STATUS_WRITE, "corpus: %s: %s", path, strerror(errno));
    return STATUS_OK;
}

static enum status write_files(const struct settings *s, const char *beside, const struct corpus *c,
                               const json_t *description, struct error *err)
{
    size_t n;
    char *text = json_text_make(description, CORPUS_JSON_FLAGS, &n);
    if (!text)
        return fail(err, STATUS_MEMORY, "corpus: out of memory");
    text[n] = '\n'; /* in place of the terminating zero, which is not written */
    enum status status = commit_file(s->out, c->text, c->count, err);
    if (status == STATUS_OK)
        status = commit_file(beside, text, n + 1, err);
    free(text);
    return status;
}

static double part_entropy(const json_t *description, const char *part)
{
    return json_number_value(json_object_get(json_object_get(description, part), "entropy"));
}

static void summarise(const struct settings *s, const struct corpus *c, const json_t *d)
{
    struct terminal notes;
    terminal_open(&notes, stderr);
    char characters[HUMAN_SIZE], stories[HUMAN_SIZE], error[64] = "";
    const json_t *standard_error = json_object_get(json_object_get(d, "validation"), "standard_error");
    if (json_is_number(standard_error)) /* a part of a story or two has none */
        snprintf(error, sizeof error, " (standard error %.4f)", json_number_value(standard_error));
    terminal_entry(&notes, "",
                   "%s characters in %s stor%s. True entropy in nats per character: %.4f; train part %.4f, validation "
                   "part %.4f%s",
                   human_count(characters, c->count), human_count(stories, c->stories), c->stories == 1 ? "y" : "ies",
                   part_entropy(d, "all"), part_entropy(d, "train"), part_entropy(d, "validation"), error);
    char *word = s->out ? shell_word_make(s->out) : NULL; /* to be copied into a shell */
    if (word)
        terminal_note(&notes, "next: nopeek train %s", word);
    free(word);
}

static enum status make(const struct settings *s, const char *beside, const struct grammar *g, struct error *err)
{
    struct corpus c;
    json_t *description = NULL;
    enum status status = corpus_make(&c, g, s->seed, s->size, err);
    if (status != STATUS_OK)
        return status;
    status = corpus_json(&description, &c, g, s->seed, s->val_split, err);
    if (status == STATUS_OK && s->out)
        status = write_files(s, beside, &c, description, err);
    if (status == STATUS_OK && !s->out) {
        fwrite(c.text, 1, c.count, stdout);
        status = command_flush(err);
    }
    if (status == STATUS_OK) {
        summarise(s, &c, description);
        if (s->json)
            status = command_print_json(json_incref(description), JSON_COMPACT | JSON_REAL_PRECISION(9), "corpus", err);
    }
    json_decref(description);
    corpus_free(&c);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    (void)options;
    const struct settings *s = settings;
    if (s->json && !s->out)
        return fail(err, STATUS_USAGE, "corpus: --json needs -o: without it the text itself goes to standard output");
    char *beside = s->out ? description_path(s->out) : NULL;
    if (s->out && !beside)
        return fail(err, STATUS_MEMORY, "corpus: out of memory");
    enum status status = STATUS_OK;
    if (s->out && !s->force) {
        status = check_absent(s->out, err);
        if (status == STATUS_OK)
            status = check_absent(beside, err);
    }
    struct grammar g;
    if (status == STATUS_OK)
        status = grammar_make(&g, &bank_source, err);
    if (status == STATUS_OK) {
        status = make(s, beside, &g, err);
        grammar_free(&g);
    }
    free(beside);
    return status;
}

const struct command cmd_corpus = {
    .name = "corpus",
    .group = COMMAND_LEARN,
    .summary = "writes a synthetic text whose true entropy is known",
    .operands = "",
    .about = "Writes short stories about banks of rivers and banks with money, where the sense of a word hangs on "
             "another word near or far. The generator knows the probability of every choice it makes, so the text's "
             "true entropy is known: no model that cannot see the future reaches a lower loss on text it has not "
             "seen.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .no_products = true,
    .run = run,
};
