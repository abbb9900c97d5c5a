/* Commands that a person can copy into a shell. */
#ifndef CLI_SHELL_WORD_H
#define CLI_SHELL_WORD_H

#include "report/buffer.h"

/* Appends a blank and one word, in quotes where a shell would read it as anything else. */
void shell_word_put(struct buffer *b, const char *word);

/* The word so quoted, without the blank: to be freed; NULL when memory is refused. */
char *shell_word_make(const char *word);

#endif
