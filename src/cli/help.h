/* Help pages, made from the command's description and its table of options. 80 columns. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"
#include "cli/terminal.h"

#define HELP_PROGRAM                                                                                                   \
    "Trains a small transformer on a text of yours, shows what its attention heads do, proves that it does not peek "  \
    "at the future, and writes text."

/* An option as one types it, without its letter and value: "--n-layer", "--[no-]bias", "--no-tied". */
#define HELP_NAME_SIZE 96
void help_name(char out[HELP_NAME_SIZE], const struct option_spec *spec);

/* What its value may be and is by default: "(default 0.8; 0 to 1)". */
#define HELP_REMARKS_SIZE (3 * OPTION_WORDS_SIZE + 16)
void help_remarks(char out[HELP_REMARKS_SIZE], const struct option_spec *spec);

/* Columns that a command's summary may take in the list of commands. */
#define HELP_SUMMARY 68

/* What to type first; then {NULL, NULL}. */
extern const struct command_example help_first_steps[];

/* What a group of commands is for: "Make a model, and use it". */
const char *help_group(enum command_group group);

/* What the program is, what to type first, and its commands by group. Headings are bold where `out` has colour. */
void help_overview(const struct terminal *out, const struct command *const *list);

/* The same without the commands: for who typed nothing yet. */
void help_brief(const struct terminal *out);

/* The page of one command. */
void help_command(const struct terminal *out, const struct command *c);

/* The page of `nopeek help` itself. */
void help_help(const struct terminal *out);

#endif
