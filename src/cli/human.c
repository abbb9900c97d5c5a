#include "cli/human.h"

#include <math.h>
#include <stdio.h>

const char *human_duration(char out[HUMAN_SIZE], double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12) {
        snprintf(out, HUMAN_SIZE, "?");
        return out;
    }
    const unsigned long long s = (unsigned long long)llround(seconds);
    if (seconds < 0.00995)
        snprintf(out, HUMAN_SIZE, "%.1f ms", seconds * 1e3);
    else if (seconds < 0.0995)
        snprintf(out, HUMAN_SIZE, "%.0f ms", seconds * 1e3);
    else if (seconds < 0.995)
        snprintf(out, HUMAN_SIZE, "%.2f s", seconds);
    else if (seconds < 9.95)
        snprintf(out, HUMAN_SIZE, "%.1f s", seconds);
    else if (s < 60)
        snprintf(out, HUMAN_SIZE, "%llu s", s);
    else if (s < 3600)
        snprintf(out, HUMAN_SIZE, "%llu min %02llu s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, HUMAN_SIZE, "%llu h %02llu min", s / 3600, s % 3600 / 60);
    else
        snprintf(out, HUMAN_SIZE, "%llu d %llu h", s / 86400, s % 86400 / 3600);
    return out;
}

/* Three digits; the unit changes where rounding would print a fourth. */
static void scaled(char out[HUMAN_SIZE], double x, const char *const *units, int count)
{
    int unit = 0;
    while (fabs(x) >= 999.5 && unit + 1 < count) {
        x /= 1000;
        unit++;
    }
    const double size = fabs(x);
    const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    snprintf(out, HUMAN_SIZE, "%.*f%s", decimals, x, units[unit]);
}

const char *human_rate(char out[HUMAN_SIZE], double per_second)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    if (isfinite(per_second) && fabs(per_second) < 1e17)
        scaled(out, per_second, units, 5);
    else
        snprintf(out, HUMAN_SIZE, "?");
    return out;
}

const char *human_count(char out[HUMAN_SIZE], uint64_t n)
{
    char digits[HUMAN_SIZE];
    const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    char *to = out;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

const char *human_bytes(char out[HUMAN_SIZE], uint64_t bytes)
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};
    if (bytes < 1000)
        snprintf(out, HUMAN_SIZE, "%u B", (unsigned)bytes);
    else
        scaled(out, (double)bytes, units, 7);
    return out;
}
