/* A JSON file of a folder that may come from anywhere. */
#ifndef STORE_JSON_FILE_H
#define STORE_JSON_FILE_H

#include <jansson.h>

#include "base/status.h"

/* *out is a new reference. STATUS_OPEN; STATUS_FORMAT naming the line: no valid JSON, a key twice, U+0000 in a text.
 * STATUS_MEMORY. On failure *out is NULL. */
enum status json_file_read(json_t **out, const char *path, struct error *err);

#endif
