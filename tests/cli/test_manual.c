#define _POSIX_C_SOURCE 200809L
#include "cli/manual.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"

static const struct option_spec table[] = {
    {.name = "out",
     .letter = 'o',
     .type = OPTION_PATH,
     .metavar = "RUN",
     .fallback = "run",
     .help = ".dots and back\\slashes"},
    OPTION_END,
};

static const struct command thing = {.name = "thing",
                                     .group = COMMAND_LOOK,
                                     .summary = "does things",
                                     .operands = "TEXT",
                                     .about = "First.\n\n'Second' one.",
                                     .options = table};

static char *page(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    manual_write(f, (const struct command *const[]){&thing, NULL});
    cr_assert_eq(fclose(f), 0);
    return text;
}

static void expect(const char *text, const char *words)
{
    cr_assert(strstr(text, words), "\"%s\" is not in\n%s", words, text);
}

Test(manual, says_what_the_table_of_options_says)
{
    char *text = page();
    expect(text, ".SH NAME\nnopeek \\- ");
    expect(text, ".PP\nLook inside:\n.TP 11\n.B thing\ndoes things\n.SH COMMANDS\n");
    expect(text, ".SH EXAMPLES\nWhat to type first:\n.TP\n.B nopeek ");
    expect(text, ".TP\n.B \\-o, \\-\\-out \\fIRUN\\fP\n");
    expect(text, "(default run)\n");
    free(text);
}

Test(manual, nothing_in_a_text_is_taken_for_a_request)
{
    char *text = page();
    expect(text, "\\&.dots and back\\eslashes\n");
    expect(text, "First.\n.PP\n\\&'Second' one.\n");
    free(text);
}

Test(manual, the_program_has_a_page_with_all_its_commands)
{
    struct program p;
    PROGRAM(&p, "help", "--man");
    cr_assert_eq(p.status, 0);
    for (size_t i = 0; command_list[i]; i++) {
        char heading[64];
        snprintf(heading, sizeof heading, ".SS nopeek %s [options]", command_list[i]->name);
        expect(p.out, heading);
    }
    program_free(&p);
}

/* Without a date mandoc warns, and shows today's. */
Test(manual, has_the_date_of_the_version)
{
    char *text = page();
    int year, month, day, end = 0;
    cr_assert_eq(sscanf(text, ".TH NOPEEK 1 \"%4d-%2d-%2d\"%n", &year, &month, &day, &end), 3, "%.60s", text);
    cr_assert(end > 0 && year >= 2026 && month >= 1 && month <= 12 && day >= 1 && day <= 31, "%.60s", text);
    free(text);
}
