/* Another program, asked one line at a time: a line goes to its standard input, a line comes back from its standard
 * output. Whatever it does - hang, crash, babble, close its pipes - ends in a status and a sentence that says so.
 *
 * It runs in a process group of its own, which child_stop ends as a whole; so Ctrl-C on the terminal reaches the caller
 * alone, who hands in `interrupted`. Pipes, not a socket: programs open /dev/stdin, which a socket does not allow. The
 * caller ignores SIGPIPE (as main does); the program gets it back at its default. */
#ifndef IO_CHILD_H
#define IO_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

#define CHILD_LONGEST_LINE ((size_t)1 << 30)

struct child {
    /* Set by child_start; may be changed between questions. */
    double timeout;            /* seconds for one answer, 60 */
    size_t longest_line;       /* bytes of one answer, CHILD_LONGEST_LINE */
    bool (*interrupted)(void); /* asked several times a second; NULL: never */

    pid_t pid;                   /* also its process group; 0 when there is none */
    int to, from, complaints;    /* our ends of its stdin, stdout and stderr; -1 when closed */
    char *buffer;                /* what it has written: the answer, then anything after it */
    size_t used, room, answered; /* bytes held, allocated, and of the last answer with its newline */
    char said[4096];             /* the end of what it has written to standard error */
    size_t said_used;
};

/* Starts `/bin/sh -c command` with this environment. STATUS_OPEN when the system refuses; a command that does not exist
 * shows at the first question only. On failure there is nothing to stop. */
enum status child_start(struct child *c, const char *command, char *const *environment, struct error *err);

/* Sends n bytes of question (a newline at their end) and waits for a line. *answer is its text, *length bytes with a
 * zero in place of the newline; it is good until the next question.
 * STATUS_READ: it exited (with which status) or was ended by a signal, closed its output, wrote a line that is too
 * long, more than one line for the last question, or nothing in time; the last line of its standard error is quoted.
 * STATUS_INTERRUPTED, STATUS_MEMORY. After a failure only child_stop is of use. */
enum status child_ask(struct child *c, const char *question, size_t n, char **answer, size_t *length,
                      struct error *err);

/* Closes its input, gives it `grace` seconds to end by itself, then ends the whole group and frees everything. Does
 * nothing to a child that was never started. */
void child_stop(struct child *c, double grace);

#endif
