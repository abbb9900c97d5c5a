#include "cli/help.h"

#include <string.h>

#define COLUMNS 80
#define LEFT 28 /* where an option's description begins */

/* A page is written word by word; this is where it stands. */
struct page {
    FILE *out;
    size_t column, indent;
};

static void new_line(struct page *p)
{
    fputc('\n', p->out);
    p->column = 0;
}

/* One word, on the next line when this one is full; `glue` joins it to what stands before. */
static void put_word(struct page *p, const char *word, size_t n, bool glue)
{
    if (p->column > p->indent && p->column + !glue + n > COLUMNS)
        new_line(p);
    if (p->column > p->indent && !glue) {
        fputc(' ', p->out);
        p->column++;
    }
    for (; p->column < p->indent; p->column++)
        fputc(' ', p->out);
    fwrite(word, 1, n, p->out);
    p->column += n;
}

static void put_text(struct page *p, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, " \n");
        if (n > 0)
            put_word(p, text, n, false);
        text += n;
        if (strncmp(text, "\n\n", 2) == 0) {
            new_line(p);
            new_line(p);
        }
        text += strspn(text, " \n");
    }
}

static void put_paragraphs(FILE *out, const char *text)
{
    struct page p = {.out = out};
    put_text(&p, text);
    new_line(&p);
}

/* Limits that nobody would hit are not worth a line: counts from 0 or 1 to a million and more. */
static bool limits_tell(const struct option_spec *spec)
{
    const struct option_range *r = &spec->range;
    if (spec->type != OPTION_SIZE && spec->type != OPTION_SEED)
        return true;
    return r->limited && (r->min > 1 || r->max < 1e6);
}

void help_remarks(char out[HELP_REMARKS_SIZE], const struct option_spec *spec)
{
    char parts[3][OPTION_WORDS_SIZE];
    size_t n = 0;
    if (spec->fallback_note)
        snprintf(parts[n++], sizeof parts[0], "default: %s", spec->fallback_note);
    else if (spec->fallback && spec->type == OPTION_STRING)
        snprintf(parts[n++], sizeof parts[0], "default \"%s\"", spec->fallback);
    else if (spec->fallback && spec->type != OPTION_FLAG)
        snprintf(parts[n++], sizeof parts[0], "default %s", spec->fallback);
    if (spec->type == OPTION_CHOICE)
        option_expected(parts[n++], spec);
    option_limits(parts[n], spec);
    if (parts[n][0] != '\0' && limits_tell(spec))
        n++;
    out[0] = '\0';
    for (size_t i = 0, at = 0; i < n && at < HELP_REMARKS_SIZE; i++)
        at += (size_t)snprintf(out + at, HELP_REMARKS_SIZE - at, "%s%s%s", i ? "; " : "(", parts[i],
                               i + 1 == n ? ")" : "");
}

void help_name(char out[HELP_NAME_SIZE], const struct option_spec *spec)
{
    const bool on = spec->type == OPTION_FLAG && spec->fallback && strcmp(spec->fallback, "true") == 0;
    const char *no = on ? "no-" : option_negatable(spec) ? "[no-]" : "";
    snprintf(out, HELP_NAME_SIZE, "--%s%s", no, spec->name);
}

static void put_row(FILE *out, const char *left, const char *help, const char *remarks)
{
    struct page p = {.out = out, .indent = LEFT};
    const int used = fprintf(out, "%s", left);
    p.column = used > 0 ? (size_t)used : 0;
    if (p.column + 2 > LEFT)
        new_line(&p);
    for (; p.column < LEFT; p.column++)
        fputc(' ', out);
    put_text(&p, help);
    put_text(&p, remarks);
    new_line(&p);
}

static void put_option(FILE *out, const struct option_spec *spec)
{
    char left[HELP_NAME_SIZE + 64], name[HELP_NAME_SIZE], remarks[HELP_REMARKS_SIZE], letter[8] = "    ";
    if (spec->letter)
        snprintf(letter, sizeof letter, "-%c, ", spec->letter);
    help_name(name, spec);
    help_remarks(remarks, spec);
    snprintf(left, sizeof left, "  %s%s%s%s", letter, name, spec->metavar ? " " : "",
             spec->metavar ? spec->metavar : "");
    put_row(out, left, spec->help, remarks);
}

static void heading(const struct terminal *out, const char *text)
{
    fprintf(out->stream, "\n%s%s:%s\n", terminal_style(out, TERMINAL_BOLD), text, terminal_style(out, TERMINAL_PLAIN));
}

static void put_examples(const struct terminal *out, const struct command_example *examples)
{
    heading(out, "Examples");
    for (const struct command_example *e = examples; e->line; e++) {
        struct page p = {.out = out->stream, .indent = 2};
        put_text(&p, e->purpose);
        fprintf(out->stream, ":\n      nopeek %s\n", e->line);
    }
}

void help_command(const struct terminal *out, const struct command *c)
{
    FILE *f = out->stream;
    fprintf(f, "Usage: nopeek %s [options]%s%s\n\n", c->name, c->operands[0] ? " " : "", c->operands);
    put_paragraphs(f, c->about);
    bool headed = false;
    for (const struct option_spec *spec = c->options; !option_is_end(spec); spec++) {
        if (spec->section || !headed)
            heading(out, spec->section ? spec->section : "Options");
        headed = true;
        if (spec->name)
            put_option(f, spec);
    }
    heading(out, "Every command");
    put_row(f, "      --config FILE", "read options from a JSON object of names and values; the command line wins", "");
    put_row(f, "  -h, --help", "show this page", "");
    put_row(f, "      --version", "show the version", "");
    if (c->examples && c->examples[0].line)
        put_examples(out, c->examples);
}

/* ---- the front page ---- */

const struct command_example help_first_steps[] = {
    {"writes a text to learn from, if you have none", "corpus -o book.txt"},
    {"learns from it, in minutes", "train book.txt -o book"},
    {"writes what it has learnt to write", "generate book"},
    {"shows what its attention looks at", "inspect book"},
    {"works attention through by hand, at once", "explain"},
    {NULL, NULL},
};

static void put_first_steps(const struct terminal *out)
{
    heading(out, "Start here");
    for (const struct command_example *e = help_first_steps; e->line; e++)
        fprintf(out->stream, "  nopeek %-24s %s\n", e->line, e->purpose);
}

const char *help_group(enum command_group group)
{
    static const char *const titles[] = {[COMMAND_MAKE] = "Make a model, and use it",
                                         [COMMAND_LOOK] = "Look inside",
                                         [COMMAND_TEST] = "Put it to the test",
                                         [COMMAND_LEARN] = "Learn how it works"};
    return titles[group];
}

static void put_group(const struct terminal *out, const struct command *const *list, enum command_group group)
{
    bool headed = false;
    for (size_t i = 0; list[i]; i++) {
        if (list[i]->group != group)
            continue;
        if (!headed)
            heading(out, help_group(group));
        headed = true;
        fprintf(out->stream, "  %-9s %s\n", list[i]->name, list[i]->summary);
    }
}

static void put_usage(const struct terminal *out)
{
    fputs("Usage: nopeek COMMAND [options] ...\n\n", out->stream);
    put_paragraphs(out->stream, HELP_PROGRAM);
}

void help_overview(const struct terminal *out, const struct command *const *list)
{
    put_usage(out);
    put_first_steps(out);
    for (enum command_group group = COMMAND_MAKE; group <= COMMAND_LEARN; group++)
        put_group(out, list, group);
    fputs("\n`nopeek help COMMAND` shows what a command does, its options and examples.\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage, 3 leak found, 130 interrupted.\n",
          out->stream);
}

void help_brief(const struct terminal *out)
{
    put_usage(out);
    put_first_steps(out);
    fputs("\n`nopeek help` lists all commands.\n", out->stream);
}

void help_help(const struct terminal *out)
{
    fputs("Usage: nopeek help [COMMAND | --man | --completion bash|zsh]\n\n", out->stream);
    put_paragraphs(
        out->stream,
        "Shows the commands, or the page of one command; --man writes all pages as a man page, --completion a "
        "script from which the shell completes command lines (make install puts both in their places).");
}
