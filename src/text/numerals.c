#include "text/numerals.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

bool numerals_is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

size_t numerals_skip(const uint8_t *bytes, size_t n, size_t at)
{
    while (at < n && numerals_is_space(bytes[at]))
        at++;
    return at;
}

size_t numerals_read(uint64_t *number, const uint8_t *bytes, size_t n)
{
    assert(n > 0);
    size_t length = 0;
    *number = 0;
    for (; length < n && !numerals_is_space(bytes[length]); length++) {
        if (bytes[length] < '0' || bytes[length] > '9' || length == NUMERALS_DIGITS)
            return 0;
        *number = 10 * *number + (uint64_t)(bytes[length] - '0');
    }
    /* "007" would be another word than "7" to whoever looks ids up by their spelling. */
    return length > 1 && bytes[0] == '0' ? 0 : length;
}

/* The word that begins at bytes[0], as labels and not endless. */
#define SHOWN_CHARACTERS 16
struct shown {
    char text[SHOWN_CHARACTERS * UTF8_LABEL_SIZE + 4];
};

static struct shown show_word(const uint8_t *bytes, size_t n)
{
    struct shown out = {""};
    size_t used = 0;
    for (size_t at = 0, k = 0; at < n && !numerals_is_space(bytes[at]); k++) {
        uint32_t code;
        const size_t length = utf8_decode(&code, bytes + at, n - at);
        if (length == 0 || k == SHOWN_CHARACTERS) {
            memcpy(out.text + used, "...", 4);
            break;
        }
        utf8_label(code, out.text + used);
        used += strlen(out.text + used);
        at += length;
    }
    return out;
}

enum status numerals_fail(struct error *err, const char *name, const struct utf8_count *before, const uint8_t *bytes,
                          size_t n, size_t V)
{
    uint64_t number;
    const size_t line = utf8_line(before);
    if (numerals_read(&number, bytes, n) == 0)
        return fail(err, STATUS_FORMAT,
                    "%s: found \"%s\" at byte offset %zu (on line %zu), but a text of bare ids is whole numbers "
                    "separated by white space, without leading zeros",
                    name, show_word(bytes, n).text, before->bytes, line);
    if (V > 0)
        return fail(err, STATUS_FORMAT,
                    "%s: the id %" PRIu64 " at byte offset %zu (on line %zu) is none of the vocabulary's, which are 0 "
                    "to %zu",
                    name, number, before->bytes, line, V - 1);
    return fail(err, STATUS_FORMAT,
                "%s: the id %" PRIu64 " at byte offset %zu (on line %zu) is larger than any vocabulary's: number the "
                "symbols from 0 without gaps",
                name, number, before->bytes, line);
}
