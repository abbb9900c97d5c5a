/* The man page of the whole program, made from the commands' descriptions and tables of options: nopeek(1) in the man
 * macros of troff, for `nopeek help --man`. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include <stdio.h>

#include "cli/command.h"

void manual_write(FILE *out, const struct command *const *list);

#endif
