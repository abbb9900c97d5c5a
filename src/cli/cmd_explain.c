/* nopeek explain: attention over a few words, every number of it. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/explain_file.h"
#include "cli/explain_view.h"

struct settings {
    const char *word;
    bool example, json;
};

static const struct option_spec options_table[] = {
    {.name = "word",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, word),
     .metavar = "WORD",
     .help = "look at what this word looks at (default: the one that the file names)"},
    {.name = "example",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, example),
     .help = "print the example as a file, to begin one's own from"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print every number as one JSON object"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"Three words: what does \"bank\" mean beside \"river\"?", "explain"},
    {"Words and matrices of your own", "explain mine.json --word river"},
    {NULL, NULL},
};

static enum status show(const struct settings *s, const struct explain_file *f, struct error *err)
{
    struct worked w;
    enum status status = worked_make(&w, &f->in, err);
    if (status != STATUS_OK)
        return status;
    if (s->json)
        status =
            command_print_json(explain_view_json(&w, f->word), JSON_COMPACT | JSON_REAL_PRECISION(9), "explain", err);
    else
        explain_view_print(stdout, &w, f->word);
    worked_free(&w);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    const struct settings *s = settings;
    if (s->example) {
        fputs(explain_file_example, stdout);
        return STATUS_OK;
    }
    struct explain_file f;
    enum status status = explain_file_read(&f, options->operands > 0 ? options->operand[0] : NULL, s->word, err);
    if (status != STATUS_OK)
        return status;
    status = show(s, &f, err);
    explain_file_free(&f);
    return status;
}

const struct command cmd_explain = {
    .name = "explain",
    .group = COMMAND_LEARN,
    .summary = "works through attention over three words, every number of it",
    .operands = "[FILE]",
    .max_operands = 1,
    .about = "Shows how a word finds out what it means from the words around it: queries, keys and values, scores, why "
             "they are divided by the square root of their width, weights, the result; then the same under the causal "
             "mask, and the way back from a loss to W_Q, W_K and W_V. The numbers come out of the kernels that train.\n"
             "\n"
             "FILE holds other words and matrices as JSON.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
