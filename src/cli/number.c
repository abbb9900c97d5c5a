#include "cli/number.h"

#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* isdigit asks the locale; this does not. */
static size_t digits(const char *s)
{
    size_t n = 0;
    while (s[n] >= '0' && s[n] <= '9')
        n++;
    return n;
}

bool number_whole(int64_t *out, const char *text)
{
    const size_t n = digits(text);
    if (n == 0 || text[n] != '\0')
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)(text[i] - '0'), &value))
            return false;
    *out = value;
    return true;
}

static bool looks_real(const char *text)
{
    const char *s = text + (text[0] == '-');
    const size_t whole = digits(s);
    s += whole;
    size_t part = 0;
    if (*s == '.') {
        part = digits(++s);
        s += part;
    }
    if (whole + part == 0)
        return false;
    if (*s == 'e' || *s == 'E') {
        s++;
        if (*s == '+' || *s == '-')
            s++;
        const size_t power = digits(s);
        if (power == 0)
            return false;
        s += power;
    }
    return *s == '\0';
}

bool number_real(double *out, const char *text)
{
    if (!looks_real(text))
        return false;
    /* strtod wants the locale's own point, which can be longer than one byte. */
    const char *point = localeconv()->decimal_point;
    const size_t size = strlen(text) + strlen(point) + 1;
    /* What people type needs no memory that could be refused. */
    char usual[256], *local = size <= sizeof usual ? usual : malloc(size);
    if (!local)
        return false;
    char *to = local;
    const size_t extra = strlen(point);
    for (const char *s = text; *s != '\0'; s++) {
        if (*s == '.') {
            memcpy(to, point, extra);
            to += extra;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
    const double value = strtod(local, NULL);
    if (local != usual)
        free(local);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}
