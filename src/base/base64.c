#include "base/base64.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_length(size_t n)
{
    assert(n < SIZE_MAX / 2);
    return n / 3 * 4 + (n % 3 ? 4 : 0);
}

void base64_encode(char *out, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t b =
            (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (left > 2 ? (uint32_t)p[i + 2] : 0);
        *out++ = alphabet[b >> 18];
        *out++ = alphabet[b >> 12 & 63];
        *out++ = left > 1 ? alphabet[b >> 6 & 63] : '=';
        *out++ = left > 2 ? alphabet[b & 63] : '=';
    }
}

bool base64_is(const char *text, size_t length, size_t n)
{
    if (length != base64_length(n))
        return false;
    const size_t padding = (3 - n % 3) % 3, digits = length - padding;
    for (size_t i = 0; i < digits; i++)
        if (!text[i] || !strchr(alphabet, text[i]))
            return false;
    for (size_t i = digits; i < length; i++)
        if (text[i] != '=')
            return false;
    /* the last digit's bits that belong to no byte are zero */
    const size_t spare = padding == 0 ? 0 : padding == 1 ? 3 : 15;
    return digits == 0 || ((size_t)(strchr(alphabet, text[digits - 1]) - alphabet) & spare) == 0;
}
