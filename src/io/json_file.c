#include "io/json_file.h"

#include <stdlib.h>

#include "io/file.h"

enum status json_file_read(json_t **out, const char *path, const struct json_limits *limits, struct error *err)
{
    *out = NULL;
    uint8_t *bytes;
    size_t n;
    enum status s = file_load(&bytes, &n, path, limits->bytes, err);
    if (s != STATUS_OK)
        return s;
    s = json_text_parse(out, path, bytes, n, 0, limits, err);
    free(bytes);
    return s;
}
