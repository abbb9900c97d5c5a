/* The worked example as a page of text, and as JSON. */
#ifndef CLI_EXPLAIN_VIEW_H
#define CLI_EXPLAIN_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "lab/worked.h"

/* word (T). */
void explain_view_print(FILE *out, const struct worked *w, const char *const *word);

/* Every number, as a new reference; NULL when memory is refused. */
json_t *explain_view_json(const struct worked *w, const char *const *word);

#endif
