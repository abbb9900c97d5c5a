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
    .summary = "does things",
    .operands = "TEXT ...",
    .about = "First paragraph, which is long enough that it has to be wrapped at the eightieth column or before "
             "it.\n\nSecond one.",
    .options = table,
    .examples = examples,
};

static char *page_of(const struct command *c, const struct command *const *list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (c)
        help_command(f, c);
    else
        help_overview(f, list);
    fclose(f);
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
    char *page = page_of(&thing, NULL);
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

Test(help, the_overview_lists_each_command_with_its_summary)
{
    const struct command other = {.name = "other", .summary = "does more"};
    const struct command *const list[] = {&thing, &other, NULL};
    char *page = page_of(NULL, list);
    cr_assert(strstr(page, "  thing      does things\n"));
    cr_assert(strstr(page, "  other      does more\n"));
    cr_assert(strstr(page, "Exit status"));
    assert_fits(page);
    free(page);
}
