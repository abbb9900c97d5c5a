#include "report/escape.h"

#include <stdbool.h>
#include <stdint.h>

/* The code point that begins at p, and its length; 0 when there is none (table 3-7 of the Unicode Standard). */
static size_t decode(uint32_t *code, const unsigned char *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    uint32_t c = length == 1 ? p[0] : p[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3Fu);
    }
    if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code = c;
    return length;
}

/* Control characters, marks that are not seen or that reorder what stands around them, and what XML forbids. */
static bool hidden(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x61C ||
           (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) ||
           c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
}

static const char *entity(uint32_t c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void escape_text(struct buffer *b, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < n;) {
        uint32_t c;
        const size_t length = decode(&c, p + i, n - i);
        if (length == 0)
            buffer_print(b, "[0x%02X]", p[i]);
        else if (entity(c))
            buffer_text(b, entity(c));
        else if (hidden(c))
            buffer_print(b, "[U+%04X]", (unsigned)c);
        else
            buffer_put(b, p + i, length);
        i += length ? length : 1;
    }
}
