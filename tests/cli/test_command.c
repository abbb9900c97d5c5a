#include "cli/command.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"

Test(command, every_table_is_complete_and_without_doubles)
{
    for (size_t c = 0; command_list[c]; c++) {
        const struct command *command = command_list[c];
        cr_assert(command->summary[0] && command->about[0] && command->run && command->examples[0].line, "%s",
                  command->name);
        cr_assert_eq(command_find(command->name), command);
        cr_assert(command->group >= COMMAND_MAKE && command->group <= COMMAND_LEARN, "%s has no group", command->name);
        cr_assert_leq(strlen(command->summary), HELP_SUMMARY, "%s: %s", command->name, command->summary);
        for (const struct option_spec *a = command->options; !option_is_end(a); a++) {
            if (!a->name)
                continue;
            cr_assert(a->help && isalpha((unsigned char)a->help[0]) && a->help[strlen(a->help) - 1] != '.', "%s --%s",
                      command->name, a->name);
            cr_assert_eq(a->metavar == NULL, a->type == OPTION_FLAG, "%s --%s", command->name, a->name);
            cr_assert_eq(a->choices != NULL, a->type == OPTION_CHOICE, "%s --%s", command->name, a->name);
            cr_assert(a->letter != 'h' && strcmp(a->name, "help") != 0 && strcmp(a->name, "config") != 0 &&
                      strcmp(a->name, "version") != 0);
            for (const struct option_spec *b = a + 1; !option_is_end(b); b++) {
                if (!b->name)
                    continue;
                cr_assert_str_neq(a->name, b->name);
                cr_assert(!a->letter || a->letter != b->letter, "%s -%c", command->name, a->letter);
                cr_assert(!a->saved || !b->saved || strcmp(a->saved, b->saved) != 0, "%s", a->saved);
                cr_assert_neq(a->offset, b->offset, "%s --%s and --%s share a field", command->name, a->name, b->name);
            }
        }
    }
}

Test(command, defaults_of_every_command_parse_and_stay_inside_its_settings)
{
    for (size_t c = 0; command_list[c]; c++) {
        const struct command *command = command_list[c];
        struct options o;
        struct error err;
        char *argv[] = {(char *)command->name, NULL};
        void *settings = calloc(1, command->settings_size); /* a field outside is the sanitizer's to find */
        cr_assert_eq(options_parse(&o, command->name, command->options, settings, 1, argv, &err), STATUS_OK, "%s",
                     err.message);
        options_free(&o);
        free(settings);
    }
}

/* A line after "nopeek " must be understood by the command that it begins with, which is returned. */
static const struct command *assert_parses(const char *example)
{
    char line[256], *argv[32];
    int argc = 0;
    cr_assert_lt(snprintf(line, sizeof line, "%s", example), (int)sizeof line);
    for (char *at = line; *at != '\0'; at += strspn(at, " ")) {
        argv[argc++] = at;
        for (int quoted = 0; *at != '\0' && (quoted || *at != ' '); at++)
            quoted ^= *at == '\'';
        if (*at != '\0')
            *at++ = '\0';
    }
    argv[argc] = NULL;
    const struct command *command = command_find(argv[0]);
    cr_assert(command, "%s", example);
    struct options o;
    struct error err = {{0}};
    void *settings = calloc(1, command->settings_size);
    enum status s = options_parse(&o, argv[0], command->options, settings, argc, argv, &err);
    if (s == STATUS_OK)
        s = command_check_operands(command, &o, &err);
    cr_assert_eq(s, STATUS_OK, "%s: %s", example, err.message);
    options_free(&o);
    free(settings);
    return command;
}

Test(command, examples_are_commands_that_parse)
{
    for (size_t c = 0; command_list[c]; c++)
        for (const struct command_example *e = command_list[c]->examples; e->line; e++)
            cr_assert_eq(assert_parses(e->line), command_list[c], "%s", e->line);
}

Test(command, what_to_type_first_parses)
{
    cr_assert(help_first_steps[0].line);
    for (const struct command_example *e = help_first_steps; e->line; e++)
        assert_parses(e->line);
}

Test(command, exit_statuses_are_the_documented_ones)
{
    cr_assert_eq(command_exit(STATUS_OK), 0);
    cr_assert_eq(command_exit(STATUS_USAGE), 2);
    cr_assert_eq(command_exit(STATUS_LEAK), 3);
    cr_assert_eq(command_exit(STATUS_INTERRUPTED), 130);
    const enum status others[] = {STATUS_OPEN,  STATUS_READ,   STATUS_WRITE,    STATUS_FORMAT,
                                  STATUS_RANGE, STATUS_MEMORY, STATUS_NONFINITE};
    for (size_t i = 0; i < 7; i++)
        cr_assert_eq(command_exit(others[i]), 1);
}

Test(command, the_nearest_name_is_offered)
{
    cr_assert_str_eq(command_nearest("gen"), "generate");
    cr_assert_str_eq(command_nearest("hlep"), "help");
    cr_assert_null(command_nearest("xyzzy"));
    cr_assert_null(command_find("gen"));
}
