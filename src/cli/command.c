#include "cli/command.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"
#include "io/json_text.h"

const struct command *const command_list[] = {&cmd_train,   &cmd_generate, &cmd_eval,   &cmd_info,   &cmd_import,
                                              &cmd_inspect, &cmd_report,   &cmd_doctor, &cmd_check,  &cmd_bench,
                                              &cmd_explain, &cmd_trap,     &cmd_lab,    &cmd_corpus, NULL};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; command_list[i]; i++)
        if (strcmp(command_list[i]->name, name) == 0)
            return command_list[i];
    return NULL;
}

const char *command_nearest(const char *name)
{
    struct nearest near = {.word = name};
    for (size_t i = 0; command_list[i]; i++)
        nearest_offer(&near, command_list[i]->name);
    nearest_offer(&near, "help");
    return near.best;
}

int command_exit(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return 0;
    case STATUS_USAGE:
        return 2;
    case STATUS_LEAK:
        return 3;
    case STATUS_INTERRUPTED:
        return 130;
    case STATUS_OPEN:
    case STATUS_READ:
    case STATUS_WRITE:
    case STATUS_FORMAT:
    case STATUS_RANGE:
    case STATUS_MEMORY:
    case STATUS_NONFINITE:
        return 1;
    }
    return 1;
}

enum status command_flush(struct error *err)
{
    /* A write that failed before has set errno and the stream's mark; little has happened in between. */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    return fail(err, STATUS_WRITE, "standard output: %s", errno ? strerror(errno) : "not all of it could be written");
}

enum status command_print_json(json_t *object, size_t flags, const char *command, struct error *err)
{
    if ((flags & JSON_REAL_PRECISION(0x1F)) == 0)
        flags |= JSON_REAL_PRECISION(15); /* 0.1, and not 0.10000000000000001 */
    char *text = json_text_make(object, flags, NULL);
    json_decref(object);
    if (!text)
        return fail(err, STATUS_MEMORY, "%s: out of memory", command);
    puts(text);
    free(text);
    return STATUS_OK;
}

enum status command_check_operands(const struct command *c, const struct options *o, struct error *err)
{
    if (o->operands < c->min_operands)
        return fail(err, STATUS_USAGE, "%s: expected %s, found %s: see nopeek help %s", c->name, c->operands,
                    o->operands == 0 ? "nothing" : "too little", c->name);
    if (o->operands > c->max_operands && c->max_operands == 0)
        return fail(err, STATUS_USAGE, "%s: takes options only, found \"%.200s\": see nopeek help %s", c->name,
                    o->operand[0], c->name);
    if (o->operands > c->max_operands)
        return fail(err, STATUS_USAGE, "%s: expected %s and no more, found \"%.200s\": see nopeek help %s", c->name,
                    c->operands, o->operand[c->max_operands], c->name);
    return STATUS_OK;
}
