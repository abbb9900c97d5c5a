#include "text/dataset.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/textfile.h"
#include "text/source.h"

static struct textfile_folder folder;

static void begin(void)
{
    textfile_begin(&folder);
}

static void end(void)
{
    textfile_end(&folder);
}

TestSuite(dataset, .init = begin, .fini = end);

static void write_text(char path[TEXTFILE_PATH_SIZE], const char *name, const char *text)
{
    textfile_write(path, &folder, name, text, strlen(text));
}

static void open_well(struct dataset *d, struct tokenizer *t, const char *const *paths, size_t n, double val_split)
{
    struct error err;
    cr_assert_eq(dataset_open(d, t, paths, n, val_split, &err), STATUS_OK, "%s", err.message);
}

/* The symbols decode to just these bytes. */
static void expect_text(const struct dataset *d, const struct tokenizer *t, const void *want, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < d->count; i++) {
        uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
        const size_t length = tokenizer_decode(t, dataset_id(d, i), bytes);
        cr_assert(at + length <= n && memcmp((const uint8_t *)want + at, bytes, length) == 0, "symbol %zu", i);
        at += length;
    }
    cr_assert_eq(at, n);
    char hash[HASH_TEXT_SIZE];
    hash_bytes(hash, want, n);
    cr_assert_str_eq(d->hash, hash);
    cr_assert_eq(d->bytes, n);
}

static void open_string(struct dataset *d, struct tokenizer *t, const char *text, double val_split)
{
    char path[TEXTFILE_PATH_SIZE];
    write_text(path, "text", text);
    *t = (struct tokenizer){.kind = TOKENIZER_CHARS};
    open_well(d, t, (const char *[]){path}, 1, val_split);
}

static void close_both(struct dataset *d, struct tokenizer *t)
{
    dataset_free(d);
    tokenizer_free(t);
    cr_assert_null(d->ids);
    cr_assert_eq(d->count, 0u);
}

Test(dataset, a_text_becomes_ids_and_comes_back)
{
    static const char text[] = "\xEF\xBB\xBFZo\xC3\xAB said:\r\n\"\xF0\x9F\x98\x80\\\"\xE2\x80\xA8\n\rend\r";
    struct dataset d;
    struct tokenizer t;
    open_string(&d, &t, text, 0);
    cr_assert_eq(d.width, 1u);
    cr_assert(d.byte_order_mark);
    cr_assert_eq(d.crlf, 1u);
    cr_assert_eq(d.lf, 1u);
    cr_assert_eq(d.lone_cr, 2u);
    expect_text(&d, &t, text, sizeof text - 1);
    close_both(&d, &t);
}

Test(dataset, line_ends_of_each_style_are_counted_and_kept)
{
    static const struct {
        const char *text;
        size_t lf, crlf, lone_cr;
    } cases[] = {{"a\nb\n", 2, 0, 0}, {"a\r\nb\r\n", 0, 2, 0}, {"a\rb\r", 0, 0, 2}, {"ab", 0, 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct dataset d;
        struct tokenizer t;
        open_string(&d, &t, cases[k].text, 0);
        cr_assert(d.lf == cases[k].lf && d.crlf == cases[k].crlf && d.lone_cr == cases[k].lone_cr);
        cr_assert_not(d.byte_order_mark);
        expect_text(&d, &t, cases[k].text, strlen(cases[k].text));
        close_both(&d, &t);
    }
}

Test(dataset, any_bytes_are_text_in_byte_mode)
{
    uint8_t all[1024];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)(i * 7);
    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "bytes", all, sizeof all);
    struct dataset d;
    struct tokenizer t = {.kind = TOKENIZER_BYTES};
    open_well(&d, &t, (const char *[]){path}, 1, 0.25);
    cr_assert_eq(t.size, 256u);
    cr_assert_eq(d.width, 1u);
    cr_assert_eq(d.count, sizeof all);
    cr_assert_eq(d.train, 768u);
    expect_text(&d, &t, all, sizeof all);
    close_both(&d, &t);
}

/* A text of V distinct characters, each twice. */
static uint8_t *text_of(size_t V, size_t *n)
{
    uint8_t *text = malloc(8 * V);
    cr_assert_not_null(text);
    *n = 0;
    for (size_t i = 0; i < 2 * V; i++) {
        const uint32_t code = 0x21 + (uint32_t)(i % V);
        *n += utf8_encode(code < 0xD800 ? code : code + 0x800, text + *n);
    }
    return text;
}

Test(dataset, ids_are_as_narrow_as_the_vocabulary_allows)
{
    static const struct {
        size_t V;
        unsigned width;
    } cases[] = {{1, 1}, {255, 1}, {256, 1}, {257, 2}, {65535, 2}, {65536, 2}, {65537, 4}, {200000, 4}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        size_t n;
        uint8_t *text = text_of(cases[k].V, &n);
        char path[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "wide", text, n);
        struct dataset d;
        struct tokenizer t = {.kind = TOKENIZER_CHARS};
        open_well(&d, &t, (const char *[]){path}, 1, 0);
        cr_assert_eq(t.size, cases[k].V);
        cr_assert_eq(d.width, cases[k].width);
        cr_assert_eq(d.count, 2 * cases[k].V);
        for (size_t i = 0; i < d.count; i++)
            cr_assert_eq(dataset_id(&d, i), i % cases[k].V);
        expect_text(&d, &t, text, n);
        close_both(&d, &t);
        free(text);
    }
}

/* Characters of two to four bytes that lie across the end of a window in every way. */
Test(dataset, windows_cut_no_character)
{
    static const char *const repeated[] = {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    const size_t n = SOURCE_WINDOW + 64;
    uint8_t *text = malloc(n);
    cr_assert_not_null(text);
    for (size_t k = 0; k < 3; k++)
        for (size_t shift = 0; shift < strlen(repeated[k]); shift++) {
            const size_t length = strlen(repeated[k]);
            memset(text, 'a', n);
            for (size_t at = SOURCE_WINDOW - 32 + shift; at < SOURCE_WINDOW + 32; at += length)
                memcpy(text + at, repeated[k], length);
            char path[TEXTFILE_PATH_SIZE];
            textfile_write(path, &folder, "big", text, n);
            struct dataset d;
            struct tokenizer t = {.kind = TOKENIZER_CHARS};
            open_well(&d, &t, (const char *[]){path}, 1, 0);
            cr_assert_eq(t.size, 2u);
            expect_text(&d, &t, text, n);
            close_both(&d, &t);
        }
    free(text);
}

static void expect_failure(struct tokenizer *t, const char *const *paths, size_t n, double val_split, enum status want,
                           const char *words)
{
    struct dataset d;
    struct error err;
    const bool made_here = t->size == 0;
    cr_assert_eq(dataset_open(&d, t, paths, n, val_split, &err), want, "expected: %s", words);
    cr_assert(strstr(err.message, words), "\"%s\" lacks \"%s\"", err.message, words);
    cr_assert_null(strchr(err.message, '\n'));
    cr_assert_null(d.ids);
    if (made_here)
        cr_assert(t->size == 0 && t->symbol == NULL);
}

static void refuse_bytes(const void *bytes, size_t n, const char *words)
{
    char path[TEXTFILE_PATH_SIZE], message[512];
    textfile_write(path, &folder, "bad", bytes, n);
    struct tokenizer t = {.kind = TOKENIZER_CHARS};
    snprintf(message, sizeof message, "%s: %s", path, words);
    expect_failure(&t, (const char *[]){path}, 1, 0.1, STATUS_FORMAT, message);
}

Test(dataset, invalid_utf8_names_file_offset_line_and_bytes)
{
    refuse_bytes("caf\xE9 noir", 9, "byte offset 3 (line 1): not valid UTF-8: found E9 20,");
    refuse_bytes("a\nb\r\nc\rd\x80", 9, "byte offset 8 (line 4): not valid UTF-8: found 80,");
    refuse_bytes("a\xC0\x80", 3, "byte offset 1 (line 1): not valid UTF-8: found C0 80, an overlong form");
    refuse_bytes("a\xED\xA0\x80", 4, "byte offset 1 (line 1): not valid UTF-8: found ED A0 80, half of a UTF-16");
    refuse_bytes("a\xF4\x90\x80\x80", 5, "byte offset 1 (line 1): not valid UTF-8: found F4 90 80 80, a value above");
    refuse_bytes("abc\xD0", 4, "byte offset 3 (line 1): not valid UTF-8: found D0, a character cut in half by the end");
    refuse_bytes("a\0b", 3, "byte offset 1 (line 1): found the character U+0000");
    refuse_bytes("\xFF\xFEh\0i\0", 6, "byte offset 0 (line 1): not UTF-8: found FF FE, the byte order mark of UTF-16");
    refuse_bytes("", 0, "empty (0 bytes)");
}

Test(dataset, the_advice_for_a_text_that_is_no_utf8_works)
{
    static const char text[] = "caf\xE9\0";
    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "bad", text, sizeof text);
    struct tokenizer t = {.kind = TOKENIZER_CHARS};
    expect_failure(&t, (const char *[]){path}, 1, 0, STATUS_FORMAT, "--tokens byte");
    struct dataset d;
    t.kind = TOKENIZER_BYTES;
    open_well(&d, &t, (const char *[]){path}, 1, 0);
    expect_text(&d, &t, text, sizeof text);
    close_both(&d, &t);
}

Test(dataset, offsets_are_right_beyond_the_first_window)
{
    const size_t n = SOURCE_WINDOW + 100;
    uint8_t *text = malloc(n);
    cr_assert_not_null(text);
    memset(text, 'a', n);
    memcpy(text + 7, "\n\xC3\xA9\r\n", 5);
    for (size_t at = SOURCE_WINDOW - 5; at < SOURCE_WINDOW + 5; at++) {
        char words[128];
        text[at] = 0xFF;
        snprintf(words, sizeof words, "byte offset %zu (line 3): not valid UTF-8: found FF", at);
        refuse_bytes(text, n, words);

        text[at] = 'Z';
        char path[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "unknown", text, n);
        struct error err;
        struct tokenizer t;
        cr_assert_eq(tokenizer_make_chars(&t, (const uint8_t *)"a\xC3\xA9\r\n", 5, "x", &err), STATUS_OK);
        snprintf(words, sizeof words, "'Z' (U+005A) at byte offset %zu (after %zu characters, on line 3)", at, at - 1);
        expect_failure(&t, (const char *[]){path}, 1, 0, STATUS_FORMAT, words);
        cr_assert_eq(t.size, 4u, "a tokenizer that was given stays");
        tokenizer_free(&t);
        text[at] = 'a';
    }
    free(text);
}

Test(dataset, files_are_joined_in_order)
{
    char a[TEXTFILE_PATH_SIZE], b[TEXTFILE_PATH_SIZE], c[TEXTFILE_PATH_SIZE], empty[TEXTFILE_PATH_SIZE];
    write_text(a, "a", "\xEF\xBB\xBFone\n");
    write_text(b, "b", "\xC3\xA9\r\n");
    write_text(c, "c", "\xEF\xBB\xBFthree");
    write_text(empty, "empty", "");
    struct dataset d;
    struct tokenizer t = {.kind = TOKENIZER_CHARS};
    open_well(&d, &t, (const char *[]){a, empty, b, c}, 4, 0.1);
    static const char joined[] = "\xEF\xBB\xBFone\n\xC3\xA9\r\n\xEF\xBB\xBFthree";
    expect_text(&d, &t, joined, sizeof joined - 1);
    cr_assert(d.byte_order_mark);
    cr_assert_eq(d.lf, 1u);
    cr_assert_eq(d.crlf, 1u);
    char hash[HASH_TEXT_SIZE];
    memcpy(hash, d.hash, sizeof hash);
    close_both(&d, &t);

    t.kind = TOKENIZER_CHARS;
    open_well(&d, &t, (const char *[]){b, a, c}, 3, 0.1);
    cr_assert_str_neq(d.hash, hash, "another order is another text");
    cr_assert_not(d.byte_order_mark);
    close_both(&d, &t);
}

Test(dataset, an_error_names_the_file_it_is_in)
{
    char good[TEXTFILE_PATH_SIZE], bad[TEXTFILE_PATH_SIZE], rest[TEXTFILE_PATH_SIZE], missing[TEXTFILE_PATH_SIZE];
    char words[512];
    write_text(good, "good", "first\nfile\n");
    write_text(bad, "bad", "second\n\xE2\x82");
    write_text(rest, "rest", "\xAC third");
    textfile_path(missing, &folder, "missing");
    struct tokenizer t = {.kind = TOKENIZER_CHARS};
    /* The halves of a character do not meet across files. */
    snprintf(words, sizeof words, "%s: byte offset 7 (line 2): not valid UTF-8: found E2 82, a character cut", bad);
    expect_failure(&t, (const char *[]){good, bad, rest}, 3, 0, STATUS_FORMAT, words);
    snprintf(words, sizeof words, "%s: byte offset 0 (line 1): not valid UTF-8: found AC", rest);
    expect_failure(&t, (const char *[]){good, rest}, 2, 0, STATUS_FORMAT, words);
    snprintf(words, sizeof words, "%s: cannot be opened", missing);
    expect_failure(&t, (const char *[]){good, missing}, 2, 0, STATUS_OPEN, words);
    snprintf(words, sizeof words, "%s: is a directory", folder.path);
    expect_failure(&t, (const char *[]){good, folder.path}, 2, 0, STATUS_OPEN, words);
}

Test(dataset, empty_input_of_every_kind_is_refused)
{
    char a[TEXTFILE_PATH_SIZE], b[TEXTFILE_PATH_SIZE], words[512];
    write_text(a, "a", "");
    write_text(b, "b", "");
    for (int kind = 0; kind < 2; kind++) {
        struct tokenizer t = {.kind = kind ? TOKENIZER_BYTES : TOKENIZER_CHARS};
        snprintf(words, sizeof words, "%s: empty (0 bytes)", a);
        expect_failure(&t, (const char *[]){a}, 1, 0, STATUS_FORMAT, words);
        snprintf(words, sizeof words, "%s and the other files are all empty (2 files, 0 bytes)", a);
        expect_failure(&t, (const char *[]){a, b}, 2, 0, STATUS_FORMAT, words);
        expect_failure(&t, (const char *[]){"/dev/null"}, 1, 0, STATUS_FORMAT, "/dev/null: empty (0 bytes)");
        expect_failure(&t, (const char *[]){a, "-", "-"}, 3, 0, STATUS_USAGE, "standard input: named 2 times");
    }
}

Test(dataset, a_text_that_is_piped_in_is_read)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    static const char text[] = "piped \xD0\x96 text\n";
    cr_assert_eq(write(ends[1], text, sizeof text - 1), (ssize_t)sizeof text - 1);
    close(ends[1]);
    cr_assert(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    struct dataset d;
    struct tokenizer t = {.kind = TOKENIZER_CHARS};
    open_well(&d, &t, (const char *[]){"-"}, 1, 0);
    expect_text(&d, &t, text, sizeof text - 1);
    close_both(&d, &t);
    expect_failure(&t, (const char *[]){"-"}, 1, 0, STATUS_FORMAT, "standard input: empty (0 bytes)");
}

struct change {
    const char *path;
    uint64_t read, total;
    size_t calls;
    off_t cut; /* to which size; < 0: left alone */
};

static void watch_and_cut(void *context, uint64_t read, uint64_t total)
{
    struct change *c = context;
    cr_assert(read > c->read && (total == 0 || read <= total));
    c->read = read;
    c->total = total;
    if (c->calls++ == 0 && c->cut >= 0)
        cr_assert_eq(truncate(c->path, c->cut), 0);
}

Test(dataset, a_file_that_is_cut_while_it_is_read_is_an_error)
{
    const size_t n = 3 * SOURCE_WINDOW;
    char *text = malloc(n), path[TEXTFILE_PATH_SIZE], words[512];
    memset(text, 'a', n);
    for (int kind = 0; kind < 2; kind++) {
        textfile_write(path, &folder, "a", text, n);
        struct tokenizer t = {.kind = kind ? TOKENIZER_BYTES : TOKENIZER_CHARS};
        struct change c = {.path = path, .cut = (off_t)SOURCE_WINDOW + 3};
        const struct dataset_watch watch = {&c, watch_and_cut};
        struct dataset d;
        struct error err;
        cr_assert_eq(dataset_open_watched(&d, &t, (const char *[]){path}, 1, 0, &watch, &err), STATUS_READ);
        snprintf(words, sizeof words, "%s: changed while it was being read", path);
        cr_assert(strstr(err.message, words), "%s", err.message);
        cr_assert(!d.ids && t.size == 0);
    }
    free(text);
}

Test(dataset, reading_reports_how_far_it_has_come)
{
    const size_t n = 3 * SOURCE_WINDOW + 17;
    char *text = malloc(n), path[TEXTFILE_PATH_SIZE];
    memset(text, 'a', n);
    textfile_write(path, &folder, "a", text, n);
    struct tokenizer t = {.kind = TOKENIZER_CHARS};
    struct change c = {.path = path, .cut = -1};
    const struct dataset_watch watch = {&c, watch_and_cut};
    struct dataset d;
    struct error err;
    cr_assert_eq(dataset_open_watched(&d, &t, (const char *[]){path, path}, 2, 0, &watch, &err), STATUS_OK);
    cr_assert_eq(c.read, 2 * n);
    cr_assert_eq(c.total, 2 * n);
    cr_assert_geq(c.calls, 8u);
    close_both(&d, &t);
    free(text);
}

Test(dataset, a_character_that_a_given_vocabulary_lacks_is_named)
{
    char path[TEXTFILE_PATH_SIZE], words[512];
    write_text(path, "new", "abc\nab\xC3\xA9");
    struct tokenizer t;
    struct error err;
    cr_assert_eq(tokenizer_make_chars(&t, (const uint8_t *)"cab\nd", 5, "x", &err), STATUS_OK);
    snprintf(
        words, sizeof words,
        "%s: the character '\xC3\xA9' (U+00E9) at byte offset 6 (after 6 characters, on line 2) is not among the 5",
        path);
    expect_failure(&t, (const char *[]){path}, 1, 0, STATUS_FORMAT, words);
    cr_assert_eq(t.size, 5u);

    write_text(path, "old", "bad\n");
    struct dataset d;
    open_well(&d, &t, (const char *[]){path}, 1, 0);
    cr_assert_eq(t.size, 5u, "the vocabulary is used as it is");
    static const uint32_t want[] = {2, 1, 4, 0};
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(dataset_id(&d, i), want[i]);
    dataset_free(&d);

    write_text(path, "bad", "ab\xFF");
    snprintf(words, sizeof words, "%s: byte offset 2 (line 1): not valid UTF-8: found FF", path);
    expect_failure(&t, (const char *[]){path}, 1, 0, STATUS_FORMAT, words);
    write_text(path, "nul", "ab");
    textfile_write(path, &folder, "nul", "ab\0", 3);
    expect_failure(&t, (const char *[]){path}, 1, 0, STATUS_FORMAT, "the character U+0000 at byte offset 2");
    tokenizer_free(&t);
}

/* The vocabulary is that of the whole text: a character of the validation part alone has an id as well. */
Test(dataset, a_character_only_in_the_validation_part_is_known)
{
    struct dataset d;
    struct tokenizer t;
    open_string(&d, &t, "aaaaaaaaab", 0.1);
    cr_assert_eq(d.train, 9u);
    cr_assert_eq(t.size, 2u);
    cr_assert_eq(dataset_id(&d, 9), 1u);
    close_both(&d, &t);
}

Test(dataset, a_share_outside_its_range_is_refused)
{
    char path[TEXTFILE_PATH_SIZE];
    write_text(path, "a", "text");
    static const double shares[] = {-0.1, 1, 1.5, INFINITY, NAN};
    for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++) {
        struct tokenizer t = {.kind = TOKENIZER_CHARS};
        expect_failure(&t, (const char *[]){path}, 1, shares[k], STATUS_RANGE, "at least 0 and below 1");
    }
}
