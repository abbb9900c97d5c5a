/* What a shell offers when Tab is pressed, made from the tables of options. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"

/* A script for `nopeek help --completion SHELL`: "bash" (a function for `complete -F`) or "zsh" (a file _nopeek for the
 * function path). False, with nothing written, for another shell. */
bool completion_write(FILE *out, const char *shell, const struct command *const *list);

#endif
