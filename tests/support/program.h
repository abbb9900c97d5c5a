/* Runs the program itself, as a person would. */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include <stddef.h>

struct program {
    int status;      /* exit status; 128 + n when signal n ended it */
    char *out, *err; /* what it wrote, each ending in a zero */
    size_t out_size, err_size;
};

/* nopeek ARGUMENTS, with `input` (NULL: nothing) as standard input. The list of arguments ends in NULL. */
void program_run(struct program *p, const char *input, const char *const *arguments);

/* A line of sh in which $NOPEEK is the program. */
void program_shell(struct program *p, const char *line);

void program_free(struct program *p);

/* It was refused: this status, nothing on stdout, and on stderr one line, an error with the words `says` in it. */
void program_expect_refused(const struct program *p, int status, const char *says);

#define PROGRAM(p, ...) program_run((p), NULL, (const char *const[]){__VA_ARGS__, NULL})

#endif
