#include "text/charset.h"

#include <assert.h>
#include <string.h>

#define ONES UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)

/* All eight bytes are in 1 .. 127: none has its high bit set, and subtracting one from each borrows nowhere. */
static int eight_ascii(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return (((word - ONES) | word) & HIGH_BITS) == 0;
}

size_t charset_scan(struct charset *set, size_t *symbols, const uint8_t *bytes, size_t n, size_t stop)
{
    assert(stop <= n);
    uint8_t ascii[128] = {0}; /* plain stores: setting bits would wait on the store before */
    size_t at = 0, count = 0;
    while (at < stop) {
        if (stop - at >= 8 && eight_ascii(bytes + at)) {
            for (size_t i = 0; i < 8; i++)
                ascii[bytes[at + i]] = 1;
            at += 8;
            count += 8;
            continue;
        }
        const uint8_t byte = bytes[at];
        if (byte == 0)
            break;
        if (byte < 128) {
            ascii[byte] = 1;
            at++;
        } else {
            uint32_t code;
            const size_t length = utf8_decode(&code, bytes + at, n - at);
            if (length == 0)
                break;
            set->bits[code / 64] |= UINT64_C(1) << (code % 64);
            at += length;
        }
        count++;
    }
    for (size_t b = 0; b < 128; b++)
        set->bits[b / 64] |= (uint64_t)ascii[b] << (b % 64);
    *symbols += count;
    return at;
}

size_t charset_size(const struct charset *set)
{
    size_t size = 0;
    for (size_t w = 0; w < sizeof set->bits / sizeof set->bits[0]; w++)
        for (uint64_t bits = set->bits[w]; bits; bits &= bits - 1)
            size++;
    return size;
}

void charset_list(uint32_t *codes, const struct charset *set)
{
    /* Most words of most sets are empty. */
    for (uint32_t w = 0; w < sizeof set->bits / sizeof set->bits[0]; w++)
        for (uint32_t b = 0; set->bits[w] != 0 && b < 64; b++)
            if (set->bits[w] >> b & 1)
                *codes++ = 64 * w + b;
}
