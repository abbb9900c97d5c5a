#include "cli/manual.h"

#include <string.h>

#include "cli/help.h"
#include "cli/version.h"

/* troff takes a backslash for an escape, a lone hyphen for one that may be any dash, and a line that begins with a
 * point or an apostrophe for a request. */
static void put_escaped(FILE *out, const char *text, bool at_start)
{
    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        at_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void put_paragraphs(FILE *out, const char *text)
{
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        const size_t n = end ? (size_t)(end - text) : strlen(text);
        for (size_t i = 0; i < n; i++) {
            const char one[2] = {text[i], '\0'};
            put_escaped(out, one, i == 0 || text[i - 1] == '\n');
        }
        fputs(end ? "\n.PP\n" : "\n", out);
        text += n + (end ? 2 : 0);
    }
}

static void put_option(FILE *out, const struct option_spec *spec)
{
    char remarks[HELP_REMARKS_SIZE], name[HELP_NAME_SIZE];
    help_name(name, spec);
    help_remarks(remarks, spec);
    fputs(".TP\n.B ", out);
    if (spec->letter)
        fprintf(out, "\\-%c, ", spec->letter);
    put_escaped(out, name, false);
    if (spec->metavar)
        fprintf(out, " \\fI%s\\fP", spec->metavar);
    fputc('\n', out);
    put_escaped(out, spec->help, true);
    fputc('\n', out);
    if (remarks[0]) {
        put_escaped(out, remarks, true);
        fputc('\n', out);
    }
}

static void put_command(FILE *out, const struct command *c)
{
    fprintf(out, ".SS nopeek %s [options]%s", c->name, c->operands[0] ? " " : "");
    put_escaped(out, c->operands, false);
    fputc('\n', out);
    put_paragraphs(out, c->about);
    for (const struct option_spec *spec = c->options; !option_is_end(spec); spec++) {
        if (spec->section)
            fprintf(out, ".PP\n.I %s\n", spec->section);
        if (spec->name)
            put_option(out, spec);
    }
    if (c->examples && c->examples[0].line)
        fputs(".PP\n.I Examples\n", out);
    for (const struct command_example *e = c->examples; e && e->line; e++) {
        fputs(".TP\n", out);
        put_escaped(out, e->purpose, true);
        fputs(":\n.EX\nnopeek ", out);
        put_escaped(out, e->line, false);
        fputs("\n.EE\n", out);
    }
}

/* The list of `nopeek help`, under the same headings. */
static void put_list(FILE *out, const struct command *const *list)
{
    for (enum command_group group = COMMAND_MAKE; group <= COMMAND_LEARN; group++) {
        bool headed = false;
        for (size_t i = 0; list[i]; i++) {
            if (list[i]->group != group)
                continue;
            if (!headed)
                fprintf(out, ".PP\n%s:\n", help_group(group));
            headed = true;
            fprintf(out, ".TP 11\n.B %s\n", list[i]->name);
            put_escaped(out, list[i]->summary, true);
            fputc('\n', out);
        }
    }
}

static void put_first_steps(FILE *out)
{
    fputs(".SH EXAMPLES\nWhat to type first:\n", out);
    for (const struct command_example *e = help_first_steps; e->line; e++) {
        fputs(".TP\n.B nopeek ", out);
        put_escaped(out, e->line, false);
        fputc('\n', out);
        put_escaped(out, e->purpose, true);
        fputc('\n', out);
    }
}

void manual_write(FILE *out, const struct command *const *list)
{
    fputs(".TH NOPEEK 1 \"" NOPEEK_DATE "\" \"nopeek " NOPEEK_VERSION "\" \"User Commands\"\n"
          ".SH NAME\nnopeek \\- train a small transformer, and see whether it peeks at the future\n"
          ".SH SYNOPSIS\n.B nopeek\n.I command\n[options] [operands]\n.SH DESCRIPTION\n",
          out);
    put_paragraphs(out, HELP_PROGRAM);
    put_list(out, list);
    fputs(".SH COMMANDS\n"
          "Every command also takes\n.BI \\-\\-config \" FILE\"\n(options as a JSON object of names and values; the "
          "command line wins),\n.B \\-\\-help\nand\n.BR \\-\\-version .\n",
          out);
    for (size_t i = 0; list[i]; i++)
        put_command(out, list[i]);
    fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 a leak was found, 130 interrupted after saving.\n", out);
    put_first_steps(out);
    fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nset to anything but nothing: no colour\n"
          ".TP\n.B NOPEEK_ISA\nthe highest instruction set to use: portable, avx2, avx512, avx512\\-bf16 or amx\n"
          ".TP\n.B TMPDIR\nwhere temporary files go (/tmp)\n",
          out);
}
