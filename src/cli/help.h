/* Help pages, made from the command's description and its table of options. 80 columns. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* What the program is, and its commands. */
void help_overview(FILE *out, const struct command *const *list);

/* The page of one command. */
void help_command(FILE *out, const struct command *c);

#endif
