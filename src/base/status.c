#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
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

/* The length of the character at s (terminated); 0 when it is no UTF-8, or would end or turn the line that it stands
 * in: a control character (C0, DEL, C1), a line or paragraph separator, a change of writing direction. */
static size_t character_of_a_line(const unsigned char *s)
{
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7F;
    const size_t length = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (length == 0)
        return 0;
    unsigned long code = s[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0u) != 0x80u)
            return 0;
        code = code << 6 | (s[i] & 0x3Fu);
    }
    const bool overlong = code < (length == 3 ? 0x800u : length == 4 ? 0x10000u : 0x80u);
    const bool beyond = code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF);
    const bool control = code < 0xA0 || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return overlong || beyond || control ? 0 : length;
}

void status_one_line(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t length = character_of_a_line(at);
        if (length == 0)
            *at = '?';
        at += length ? length : 1;
    }
}

enum status fail(struct error *err, enum status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    cut_at_character(err->message, sizeof err->message);
    status_one_line(err->message);
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
    status_one_line(err->message);
    return status;
}
