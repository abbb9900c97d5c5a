/* The words and matrices of `nopeek explain`: those of the book, or a person's own from a small JSON file. */
#ifndef CLI_EXPLAIN_FILE_H
#define CLI_EXPLAIN_FILE_H

#include <jansson.h>

#include "base/status.h"
#include "lab/worked.h"

#define EXPLAIN_MOST 16 /* words, and numbers in a row: more would fill no screen */

struct explain_file {
    struct worked_input in; /* its arrays are in `numbers` */
    const char **word;      /* (in.T), borrowed from json */
    real *numbers;
    json_t *json;
};

/* The worked example itself, as one would write it into a file. */
extern const char explain_file_example[];

/* Reads PATH, or the example when path is NULL:
 *   {"words": ["The", ...], "x": [[...], ...], "W_Q": [[...], ...], "W_K": ..., "W_V": ..., "look_at": "bank"}
 * x has a row for each word, the matrices a row for each number in it. `look_at`, when not NULL, is the word to look at
 * instead of the file's, which may leave it out (then the last word). STATUS_OPEN, STATUS_READ, STATUS_FORMAT naming
 * the key, STATUS_MEMORY. On failure f is left empty. */
enum status explain_file_read(struct explain_file *f, const char *path, const char *look_at, struct error *err);
void explain_file_free(struct explain_file *f);

#endif
