#include "report/script_data.h"

#include <stdbool.h>
#include <string.h>

/* U+2028 and U+2029 in UTF-8. */
static bool is_separator(const char *at, size_t left)
{
    return left >= 3 && at[0] == '\xE2' && at[1] == '\x80' && (at[2] == '\xA8' || at[2] == '\xA9');
}

void script_data_put(struct buffer *b, const char *json, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        const bool separator = is_separator(json + i, n - i);
        if (!separator && json[i] != '<' && json[i] != '>' && json[i] != '&')
            continue;
        buffer_put(b, json + from, i - from);
        if (separator)
            buffer_print(b, "\\u%04X", json[i + 2] == '\xA8' ? 0x2028u : 0x2029u);
        else
            buffer_print(b, "\\u%04X", (unsigned)json[i]);
        i += separator ? 2 : 0;
        from = i + 1;
    }
    buffer_put(b, json + from, n - from);
}
