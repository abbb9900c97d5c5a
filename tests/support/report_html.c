#include "support/report_html.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

json_t *report_html_json(const char *path, const char *id)
{
    char opening[80], *page = scratch_read(path, NULL);
    snprintf(opening, sizeof opening, "<script type=\"application/json\" id=\"%s\">", id);
    char *from = strstr(page, opening);
    cr_assert(from, "%s has no %s", path, opening);
    from += strlen(opening);
    json_error_t why;
    json_t *json = json_loadb(from, (size_t)(strstr(from, "</script>") - from), JSON_ALLOW_NUL, &why);
    cr_assert(json, "%s: %s", id, why.text);
    free(page);
    return json;
}

const json_t *report_html_at(const json_t *data, ...)
{
    va_list keys;
    va_start(keys, data);
    for (const char *key; (key = va_arg(keys, const char *));) {
        data = json_object_get(data, key);
        cr_assert(data, "no %s", key);
    }
    va_end(keys);
    return data;
}
