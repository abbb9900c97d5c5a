/* A JSON file that may come from anywhere. */
#ifndef IO_JSON_FILE_H
#define IO_JSON_FILE_H

#include "io/json_text.h"

/* *out is a new reference. STATUS_OPEN, STATUS_READ; STATUS_FORMAT: beyond the limits, no valid JSON (naming the line),
 * a key twice, U+0000 in a text. STATUS_MEMORY. On failure *out is NULL. */
enum status json_file_read(json_t **out, const char *path, const struct json_limits *limits, struct error *err);

#endif
