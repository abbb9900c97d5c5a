#define _POSIX_C_SOURCE 200809L
#include "cli/help.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"causal", "none", NULL};

static const struct option_spec table[] = {
    OPTION_SECTION("Sizes"),
    {.name = "n-layer",
     .type = OPTION_SIZE,
     .metavar = "L",
     .fallback = "4",
     .range = OPTION_BETWEEN(1, 4095),
     .help = "number of blocks, each of which has an attention layer and an MLP, one after another, and this sentence "
             "goes on for longer than a line"},
    {.name = "a-very-long-name-for-an-option", .letter = 'a', .type = OPTION_PATH, .metavar = "FILE", .help = "short"},
    OPTION_SECTION("Other things"),
    {.name = "mask", .type = OPTION_CHOICE, .metavar = "RULE", .fallback = "causal", .choices = words, .help = "mask"},
    {.name = "bias", .type = OPTION_FLAG, .fallback = "true", .help = "leave biases out"},
    {.name = "lr",
     .type = OPTION_NUMBER,
     .metavar = "X",
     .fallback = "1",
     .fallback_note = "chosen for the text",
     .range = OPTION_ABOVE(0),
     .help = "rate"},
    OPTION_END,
};

static const struct command_example examples[] = {{"Make it small", "thing --n-layer 1 text.txt"}, {NULL, NULL}};

static const struct command thing = {
    .name = "thing",
    .group = COMMAND_LOOK,
    .summary = "does things",
    .operands = "TEXT ...",
    .about = "First paragraph, which is long enough that it has to be wrapped at the eightieth column or before "
             "it.\n\nSecond one.",
    .options = table,
    .examples = examples,
};

/* The page of a command, of a list of them, or the brief one. */
static char *page_of(const struct command *c, const struct command *const *list, bool colour)
{
    char *text = NULL;
    size_t size = 0;
    const struct terminal out = {.stream = open_memstream(&text, &size), .colour = colour};
    if (c)
        help_command(&out, c);
    else if (list)
        help_overview(&out, list);
    else
        help_brief(&out);
    fclose(out.stream);
    return text;
}

static void assert_fits(const char *page)
{
    for (const char *line = page; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        cr_assert_leq(n, 80, "%.*s", (int)n, line);
        cr_assert(n == 0 || line[n - 1] != ' ', "blank at the end of: %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

Test(help, a_page_has_usage_sections_ranges_defaults_and_examples_in_80_columns)
{
    char *page = page_of(&thing, NULL, false);
    const char *const parts[] = {"Usage: nopeek thing [options] TEXT ...\n",
                                 "\n\nSecond one.\n",
                                 "\nSizes:\n",
                                 "      --n-layer L           number of blocks",
                                 "(default 4;\n                            1 to 4095)",
                                 "  -a, --a-very-long-name-for-an-option FILE\n                            short\n",
                                 "\nOther things:\n",
                                 "(default causal; one of causal, none)",
                                 "--no-bias ",
                                 "(default: chosen for the text; above 0)",
                                 "--config FILE",
                                 "\nExamples:\n",
                                 "nopeek thing --n-layer 1 text.txt\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(strstr(page, parts[i]), "no \"%s\" in:\n%s", parts[i], page);
    assert_fits(page);
    free(page);
}

Test(help, the_overview_lists_each_command_with_its_summary_under_its_group)
{
    const struct command other = {.name = "other", .group = COMMAND_LEARN, .summary = "does more"},
                         third = {.name = "third", .group = COMMAND_LOOK, .summary = "does it again"};
    const struct command *const list[] = {&other, &thing, &third, NULL};
    char *page = page_of(NULL, list, false);
    cr_assert(strstr(page, "\nLook inside:\n  thing     does things\n  third     does it again\n\n"), "%s", page);
    cr_assert(strstr(page, "\nLearn how it works:\n  other     does more\n\n"), "%s", page);
    cr_assert_null(strstr(page, "Make a model"), "a heading with nothing below it:\n%s", page);
    cr_assert(strstr(page, "Exit status"));
    assert_fits(page);
    free(page);
}

Test(help, the_program_s_own_overview_fits_and_begins_with_what_to_type_first)
{
    char *page = page_of(NULL, command_list, false), *brief = page_of(NULL, NULL, false);
    assert_fits(page);
    assert_fits(brief);
    const char *first = strstr(page, "\nStart here:\n  nopeek ");
    cr_assert(first && first < strstr(page, "\nMake a model"), "%s", page);
    cr_assert(strstr(brief, "\nStart here:\n  nopeek "), "%s", brief);
    cr_assert_null(strstr(brief, "\nMake a model"), "%s", brief);
    free(page);
    free(brief);
}

Test(help, headings_are_bold_where_there_is_colour_only)
{
    char *plain = page_of(&thing, NULL, false), *bold = page_of(&thing, NULL, true);
    cr_assert_null(strchr(plain, '\033'));
    cr_assert(strstr(bold, "\n\033[1mSizes:\033[0m\n"), "%s", bold);
    free(plain);
    free(bold);
}
