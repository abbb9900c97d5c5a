/* What a command of the program is. Each cmd_NAME.c defines one; command.c lists them all. Help pages, parsing and
 * dispatch are read off this, as a man page and shell completion can be. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "cli/options.h"

/* A line of the examples section: what it is for, and what to type after "nopeek ". */
struct command_example {
    const char *purpose, *line;
};

/* Under which heading of `nopeek help` a command stands; none is 0, so that a forgotten one is noticed. */
enum command_group { COMMAND_MAKE = 1, COMMAND_LOOK, COMMAND_TEST, COMMAND_LEARN };

struct command {
    const char *name;
    enum command_group group;
    const char *summary;               /* what it does: the line of `nopeek help`, at most HELP_SUMMARY columns */
    const char *operands;              /* "RUN [TEXT ...]"; "" for none */
    size_t min_operands, max_operands; /* SIZE_MAX: as many as one likes */
    const char *about;                 /* paragraphs, separated by an empty line */
    const struct option_spec *options;
    size_t settings_size;                   /* of the struct that `options` fills */
    const struct command_example *examples; /* then {NULL, NULL} */
    bool no_products;                       /* computes nothing: runs where there is no room for a matrix product */

    /* Does the work. `settings` is filled, the number of operands checked. Results go to stdout, notes to stderr;
     * an error comes back in err and is printed by main, which also notices output that was lost at the very end. A
     * command that writes for long, or has more to do once it has written, asks command_flush. */
    enum status (*run)(struct options *options, void *settings, struct error *err);
};

extern const struct command cmd_train, cmd_generate, cmd_eval, cmd_info, cmd_check, cmd_trap, cmd_corpus, cmd_lab,
    cmd_bench, cmd_doctor, cmd_explain, cmd_import, cmd_inspect, cmd_report;

/* All commands, in the order of `nopeek help`; then NULL. */
extern const struct command *const command_list[];

/* NULL when there is none. */
const struct command *command_find(const char *name);

/* The command whose name is most like `name`, or NULL. */
const char *command_nearest(const char *name);

/* Exit status of the program: 0 done, 1 failed, 2 wrong usage, 3 a leak was found, 130 interrupted after saving. */
int command_exit(enum status status);

/* Hands everything on stdout to the system. STATUS_WRITE with the reason when some of it, now or before, was lost. */
enum status command_flush(struct error *err);

/* One line of JSON on stdout, whole or not at all; flags are json_dumps's, numbers of 15 digits unless they say another
 * precision. Takes the reference to object, which may be
 * NULL: memory was refused then. STATUS_MEMORY in the name of the command. */
enum status command_print_json(json_t *object, size_t flags, const char *command, struct error *err);

/* STATUS_USAGE when a command line has too few or too many operands. */
enum status command_check_operands(const struct command *c, const struct options *o, struct error *err);

#endif
