/* The first two bytes are how to read, the rest a text. A text that is accepted decodes to the very bytes, its line
 * ends are counted right, its windows lie inside; characters are refused exactly when the text is empty, no UTF-8, or
 * has U+0000, and bytes only when it is empty. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "text/dataset.h"

/* Valid UTF-8 without U+0000, by the table of RFC 3629, section 4. */
static bool is_text(const uint8_t *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const uint8_t c = s[i];
        uint8_t low = 0x80, high = 0xBF;
        size_t more;
        if (c >= 0x01 && c <= 0x7F)
            more = 0;
        else if (c >= 0xC2 && c <= 0xDF)
            more = 1;
        else if (c >= 0xE0 && c <= 0xEF)
            more = 2;
        else if (c >= 0xF0 && c <= 0xF4)
            more = 3;
        else
            return false;
        if (c == 0xE0)
            low = 0xA0;
        if (c == 0xED)
            high = 0x9F;
        if (c == 0xF0)
            low = 0x90;
        if (c == 0xF4)
            high = 0x8F;
        if (more > n - i - 1 || (more > 0 && (s[i + 1] < low || s[i + 1] > high)))
            return false;
        for (size_t k = 2; k <= more; k++)
            if (s[i + k] < 0x80 || s[i + k] > 0xBF)
                return false;
        i += more + 1;
    }
    return true;
}

static void require_same_text(const struct dataset *d, const struct tokenizer *t, const uint8_t *bytes, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < d->count; i++) {
        uint8_t symbol[TOKENIZER_SYMBOL_SIZE];
        const uint32_t id = dataset_id(d, i);
        fuzz_require(id < t->size, "symbol %zu has id %u of %zu", i, (unsigned)id, t->size);
        const size_t length = tokenizer_decode(t, id, symbol);
        fuzz_require(length <= n - at && memcmp(symbol, bytes + at, length) == 0, "symbol %zu at byte %zu", i, at);
        at += length;
    }
    fuzz_require(at == n, "%zu of %zu bytes", at, n);
}

static void require_line_ends(const struct dataset *d, const uint8_t *bytes, size_t n)
{
    size_t lf = 0, cr = 0, crlf = 0;
    for (size_t i = 0; i < n; i++) {
        const bool after_cr = i > 0 && bytes[i - 1] == '\r';
        lf += bytes[i] == '\n' && !after_cr;
        crlf += bytes[i] == '\n' && after_cr;
        cr += bytes[i] == '\r' && !(i + 1 < n && bytes[i + 1] == '\n');
    }
    fuzz_require(d->lf == lf && d->crlf == crlf && d->lone_cr == cr, "%zu LF, %zu CRLF, %zu CR", d->lf, d->crlf,
                 d->lone_cr);
}

static void require_windows(const struct dataset *d)
{
    uint32_t inputs[8], targets[8];
    for (size_t T = 1; T <= 8; T++) {
        struct error err;
        fuzz_clear(&err);
        const enum status s = dataset_check(d, T, &err);
        fuzz_require((s == STATUS_OK) == (d->train > T), "T %zu, %zu symbols train", T, d->train);
        if (s != STATUS_OK) {
            fuzz_refused(s, &err);
            continue;
        }
        for (uint32_t row = 0; row < 4; row++) {
            const size_t start = dataset_draw(d, T, 1, 2, row);
            fuzz_require(start + T < d->train, "a window at %zu", start);
            dataset_window(d, inputs, targets, start, T);
            for (size_t t = 0; t + 1 < T; t++)
                fuzz_require(inputs[t + 1] == targets[t], "place %zu", t);
        }
    }
}

static void read_as(enum tokenizer_kind kind, double val_split, bool twice, const uint8_t *bytes, size_t n)
{
    struct error err;
    struct dataset d;
    struct tokenizer t = {.kind = kind};
    const char *path = fuzz_file("text", bytes, n);
    const bool fine = n > 0 && (kind == TOKENIZER_BYTES || is_text(bytes, n));
    fuzz_clear(&err);
    const enum status s = dataset_open(&d, &t, &path, 1, val_split, &err);
    fuzz_require((s == STATUS_OK) == fine, "status %d: %s", (int)s, s == STATUS_OK ? "accepted" : err.message);
    if (s != STATUS_OK) {
        fuzz_refused(s, &err);
        fuzz_require(!d.ids && !t.symbol, "something is left");
        return;
    }
    fuzz_accepted();
    char hash[HASH_TEXT_SIZE];
    hash_bytes(hash, bytes, n);
    fuzz_require(d.bytes == n && strcmp(hash, d.hash) == 0, "%zu bytes, hash %s", d.bytes, d.hash);
    fuzz_require(d.train <= d.count && d.train > 0, "%zu of %zu train", d.train, d.count);
    require_same_text(&d, &t, bytes, n);
    require_line_ends(&d, bytes, n);
    require_windows(&d);
    dataset_free(&d);

    if (twice) {
        /* The same text by a vocabulary that is there already. */
        struct tokenizer made = t;
        fuzz_require(dataset_open(&d, &made, &path, 1, val_split, &err) == STATUS_OK, "%s", err.message);
        require_same_text(&d, &made, bytes, n);
        dataset_free(&d);
    }
    tokenizer_free(&t);
}

int fuzz_text(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    /* Nearly all the time goes into tables of all characters: the second reading is seldom. */
    read_as(bytes[0] & 1 ? TOKENIZER_BYTES : TOKENIZER_CHARS, bytes[1] / 256.0, bytes[0] % 16 < 2, bytes + 2, n - 2);
    return 0;
}
