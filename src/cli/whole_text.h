/* A text that a person gives for one look: on the command line, or in a file. */
#ifndef CLI_WHOLE_TEXT_H
#define CLI_WHOLE_TEXT_H

#include <stddef.h>

#include "base/status.h"

struct whole_text {
    char *bytes; /* (size), not terminated */
    size_t size;
    const char *name; /* for messages: "--prompt", a path, "standard input"; borrowed */
};

/* The bytes of `words`, or of the file at `path` ("-" is standard input) when that is not NULL; with neither, none.
 * word_option and path_option are the options' names, for messages: "--prompt", "--prompt-file". STATUS_USAGE when both
 * are given; STATUS_OPEN, STATUS_READ, STATUS_MEMORY. Free with whole_text_free, also on failure. */
enum status whole_text_read(struct whole_text *t, const char *words, const char *word_option, const char *path,
                            const char *path_option, struct error *err);
void whole_text_free(struct whole_text *t);

#endif
