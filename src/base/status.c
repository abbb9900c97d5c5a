#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A cut message must stay valid UTF-8: step back over continuation bytes to a whole character. */
static void cut_at_character(char *s, size_t size)
{
    size_t n = strnlen(s, size);
    if (n + 1 < size)
        return;
    size_t lead = n;
    while (lead > 0 && ((unsigned char)s[lead - 1] & 0xC0u) == 0x80u)
        lead--;
    if (lead == 0)
        return;
    const unsigned char c = (unsigned char)s[lead - 1];
    const size_t need = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (lead - 1 + need > n)
        s[lead - 1] = '\0';
}

enum status fail(struct error *err, enum status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    cut_at_character(err->message, sizeof err->message);
    return status;
}

enum status fail_within(struct error *err, enum status status, const char *format, ...)
{
    char inner[sizeof err->message];
    memcpy(inner, err->message, sizeof inner);
    va_list args;
    va_start(args, format);
    const int used = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->message &&
        snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s", inner) < 0)
        err->message[used] = '\0';
    cut_at_character(err->message, sizeof err->message);
    return status;
}
