#include "report/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the zero. */
static bool reserve(struct buffer *b, size_t n)
{
    if (b->failed || n < b->room - b->count)
        return !b->failed;
    b->failed = n >= SIZE_MAX / 4 - b->count;
    const size_t room = b->failed ? 0 : 2 * (b->count + n) + 256;
    char *bytes = b->failed ? NULL : realloc(b->bytes, room);
    if (!bytes) {
        b->failed = true;
        return false;
    }
    b->bytes = bytes;
    b->room = room;
    return true;
}

void buffer_put(struct buffer *b, const void *bytes, size_t n)
{
    if (n == 0 || !reserve(b, n))
        return;
    memcpy(b->bytes + b->count, bytes, n);
    b->count += n;
    b->bytes[b->count] = '\0';
}

void buffer_text(struct buffer *b, const char *text)
{
    buffer_put(b, text, strlen(text));
}

void buffer_print(struct buffer *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n <= 0 || !reserve(b, (size_t)n))
        return;
    va_start(args, format);
    vsnprintf(b->bytes + b->count, (size_t)n + 1, format, args);
    va_end(args);
    b->count += (size_t)n;
}

enum status buffer_check(const struct buffer *b, const char *what, struct error *err)
{
    return b->failed ? fail(err, STATUS_MEMORY, "%s: memory for more than %zu bytes was refused", what, b->count)
                     : STATUS_OK;
}

void buffer_free(struct buffer *b)
{
    free(b->bytes);
    *b = (struct buffer){0};
}
