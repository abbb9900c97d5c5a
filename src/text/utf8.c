#include "text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

size_t utf8_decode(uint32_t *code, const uint8_t *bytes, size_t n)
{
    assert(n > 0);
    utf8proc_int32_t c;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, n < 4 ? (utf8proc_ssize_t)n : 4, &c);
    if (length <= 0)
        return 0;
    *code = (uint32_t)c;
    return (size_t)length;
}

size_t utf8_encode(uint32_t code, uint8_t out[4])
{
    assert(code < UTF8_CODE_POINTS && (code < 0xD800 || code > 0xDFFF));
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)code, out);
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Plain sums over bytes without a branch, so that a compiler can take many at a time. */
void utf8_count(struct utf8_count *c, const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return;
    size_t characters = 0, lf = 0, cr = 0, crlf = c->after_cr && bytes[0] == '\n';
    for (size_t i = 0; i < n; i++) {
        characters += !is_continuation(bytes[i]);
        lf += bytes[i] == '\n';
        cr += bytes[i] == '\r';
    }
    if (cr > 0)
        for (size_t i = 1; i < n; i++)
            crlf += (bytes[i - 1] == '\r') & (bytes[i] == '\n');
    c->bytes += n;
    c->characters += characters;
    c->lf += lf;
    c->cr += cr;
    c->crlf += crlf;
    c->after_cr = bytes[n - 1] == '\r';
}

size_t utf8_line(const struct utf8_count *c)
{
    return 1 + c->lf + c->cr - c->crlf;
}

/* What is wrong with bytes[0 .. *shown). The well-formed sequences are table 3-7 of the Unicode Standard. */
static const char *what_is_wrong(size_t *shown, const uint8_t *bytes, size_t n)
{
    const uint8_t lead = bytes[0];
    *shown = 1;
    if (is_continuation(lead))
        return "a continuation byte that follows no first byte";
    if (lead >= 0xF8)
        return "a byte that never occurs in UTF-8";
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    size_t have = 1;
    while (have < length && have < n && is_continuation(bytes[have]))
        have++;
    *shown = have;
    if (have == n && have < length)
        return "a character cut in half by the end of the text";
    if (have < length) {
        *shown = have + 1;
        return "a first byte without the continuation bytes it calls for";
    }
    if (lead < 0xC2 || (lead == 0xE0 && bytes[1] < 0xA0) || (lead == 0xF0 && bytes[1] < 0x90))
        return "an overlong form";
    if (lead == 0xED)
        return "half of a UTF-16 surrogate pair";
    return "a value above U+10FFFF";
}

/* The encoding whose byte order mark begins the text, or NULL. UTF-32's little-endian one begins like UTF-16's; U+0000
 * would be an odd first character of a text in that. */
static const char *foreign_mark(const uint8_t *bytes, size_t n)
{
    if (n >= 4 && memcmp(bytes, "\xFF\xFE\0\0", 4) == 0)
        return "UTF-32";
    if (n >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0))
        return "UTF-16";
    return NULL;
}

enum status utf8_fail(struct error *err, const char *name, const struct utf8_count *before, const uint8_t *bytes,
                      size_t n, const char *advice)
{
    assert(n > 0);
    const size_t line = utf8_line(before);
    if (bytes[0] == 0)
        return fail(err, STATUS_FORMAT,
                    "%s: byte offset %zu (line %zu): found the character U+0000, which text does not hold; %s", name,
                    before->bytes, line, advice);
    const char *mark = before->bytes == 0 ? foreign_mark(bytes, n) : NULL;
    if (mark)
        return fail(err, STATUS_FORMAT,
                    "%s: byte offset 0 (line 1): not UTF-8: found %02X %02X, the byte order mark of %s; %s", name,
                    bytes[0], bytes[1], mark, advice);
    size_t shown;
    const char *wrong = what_is_wrong(&shown, bytes, n);
    char found[4 * 3 + 1];
    for (size_t i = 0; i < shown; i++)
        snprintf(found + 3 * i, 4, "%02X ", bytes[i]);
    found[3 * shown - 1] = '\0';
    return fail(err, STATUS_FORMAT, "%s: byte offset %zu (line %zu): not valid UTF-8: found %s, %s; %s", name,
                before->bytes, line, found, wrong, advice);
}

enum look { LOOK_PRINTABLE, LOOK_MARK, LOOK_INVISIBLE };

static enum look look_of(uint32_t code)
{
    static const uint32_t braille_blank = 0x2800; /* a symbol by its category, yet nothing to see */
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)code);
    if (property->ignorable || code == braille_blank)
        return LOOK_INVISIBLE;
    switch (property->category) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return LOOK_MARK;
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return LOOK_INVISIBLE;
    default:
        return LOOK_PRINTABLE;
    }
}

/* The name where there is nothing to see, else NULL. */
static const char *short_name(uint32_t code)
{
    switch (code) {
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case ' ':
        return "\xE2\x90\xA3"; /* U+2423 OPEN BOX */
    default:
        return NULL;
    }
}

void utf8_label(uint32_t code, char out[UTF8_LABEL_SIZE])
{
    const char *name = short_name(code);
    if (name) {
        snprintf(out, UTF8_LABEL_SIZE, "%s", name);
        return;
    }
    const enum look look = look_of(code);
    if (look == LOOK_INVISIBLE) {
        snprintf(out, UTF8_LABEL_SIZE, "U+%04X", (unsigned)code);
        return;
    }
    uint8_t bytes[4];
    const size_t length = utf8_encode(code, bytes);
    const char *circle = look == LOOK_MARK ? "\xE2\x97\x8C" : ""; /* U+25CC DOTTED CIRCLE */
    snprintf(out, UTF8_LABEL_SIZE, "%s%.*s", circle, (int)length, (const char *)bytes);
}

void utf8_describe(uint32_t code, char out[UTF8_DESCRIPTION_SIZE])
{
    char label[UTF8_LABEL_SIZE];
    utf8_label(code, label);
    if (!short_name(code) && look_of(code) == LOOK_INVISIBLE)
        snprintf(out, UTF8_DESCRIPTION_SIZE, "%s", label);
    else
        snprintf(out, UTF8_DESCRIPTION_SIZE, "'%s' (U+%04X)", label, (unsigned)code);
}

size_t utf8_fit(size_t *used, const char *text, size_t columns)
{
    const uint8_t *const start = (const uint8_t *)text, *at = start, *const end = start + strlen(text);
    size_t have = 0;
    while (at < end) {
        uint32_t code;
        const size_t n = utf8_decode(&code, at, (size_t)(end - at));
        const size_t more = n ? (size_t)utf8proc_charwidth((utf8proc_int32_t)code) : 0;
        if (more > columns - have)
            break;
        have += more;
        at += n ? n : 1;
    }
    *used = have;
    return (size_t)(at - start);
}

size_t utf8_columns(const char *text)
{
    size_t columns;
    (void)utf8_fit(&columns, text, SIZE_MAX);
    return columns;
}

bool utf8_right_to_left(uint32_t code)
{
    const int direction = utf8proc_get_property((utf8proc_int32_t)code)->bidi_class;
    return direction == UTF8PROC_BIDI_CLASS_R || direction == UTF8PROC_BIDI_CLASS_AL;
}

bool utf8_in_word(uint32_t code)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NO; /* LU LT.. LO, MN MC ME, ND NL NO */
}
