#include "store/json_file.h"

#include "io/mapped.h"

enum status json_file_read(json_t **out, const char *path, struct error *err)
{
    *out = NULL;
    struct mapped file;
    const enum status s = mapped_open(&file, path, err);
    if (s != STATUS_OK)
        return s;
    json_error_t why = {.line = 1, .text = "the file is empty"};
    if (file.size > 0)
        *out = json_loadb((const char *)file.bytes, file.size, JSON_REJECT_DUPLICATES, &why);
    mapped_close(&file);
    if (*out)
        return STATUS_OK;
    return json_error_code(&why) == json_error_out_of_memory
               ? fail(err, STATUS_MEMORY, "%s: memory was refused", path)
               : fail(err, STATUS_FORMAT, "%s: no valid JSON at line %d: %.100s", path, why.line, why.text);
}
