/* Help pages, made from the command's description and its table of options. 80 columns. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

#define HELP_PROGRAM                                                                                                   \
    "Trains a small transformer on a text of yours, shows what its attention heads do, proves that it does not peek "  \
    "at the future, and writes text."

/* An option as one types it, without its letter and value: "--n-layer", "--[no-]bias", "--no-tied". */
#define HELP_NAME_SIZE 96
void help_name(char out[HELP_NAME_SIZE], const struct option_spec *spec);

/* What its value may be and is by default: "(default 0.8; 0 to 1)". */
#define HELP_REMARKS_SIZE (3 * OPTION_WORDS_SIZE + 16)
void help_remarks(char out[HELP_REMARKS_SIZE], const struct option_spec *spec);

/* What the program is, and its commands. */
void help_overview(FILE *out, const struct command *const *list);

/* The page of one command. */
void help_command(FILE *out, const struct command *c);

#endif
