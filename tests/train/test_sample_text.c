#include "train/sample_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/scratch.h"
#include "text/dataset.h"

#define N 40

static struct tokenizer tokenizer;
static struct gpt model;

/* A random model over the characters of `text`. */
static void make(const char *text, enum tokenizer_kind kind, double dropout)
{
    struct error err;
    struct dataset d;
    const char *path = scratch_path("text");
    scratch_write(path, text, strlen(text));
    tokenizer = (struct tokenizer){.kind = kind};
    cr_assert_eq(dataset_open(&d, &tokenizer, &path, 1, 0, &err), STATUS_OK, "%s", err.message);
    dataset_free(&d);
    struct config c = config_make(1, 2, 8, 5, tokenizer.size); /* a context that the text outgrows */
    c.dropout = dropout;
    cr_assert_eq(gpt_create(&model, &c, &err), STATUS_OK, "%s", err.message);
    params_init(model.params, &model.table, &c, 3);
    for (size_t i = 0; i < tokenizer.size * c.n_embd; i++)
        model.params[i] *= 10;
}

static void drop(void)
{
    gpt_free(&model);
    tokenizer_free(&tokenizer);
    scratch_remove();
}

TestSuite(sample_text, .init = scratch_make, .fini = drop);

static size_t sample(char out[N * SAMPLE_TEXT_SYMBOL], size_t n, uint64_t seed, int threads)
{
    struct error err;
    size_t bytes = 99;
    const enum status s = sample_text(out, &bytes, &model, &tokenizer, n, seed, support_team(threads), &err);
    cr_assert_eq(s, STATUS_OK, "%s", err.message);
    return bytes;
}

static bool is_utf8(const char *text, size_t n)
{
    json_t *json = json_stringn(text, n); /* refuses what is not UTF-8 */
    json_decref(json);
    return json != NULL;
}

static size_t symbols(const char *text, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += ((unsigned char)text[i] & 0xC0u) != 0x80u;
    return found;
}

Test(sample_text, writes_n_whole_characters_whatever_the_context)
{
    char out[N * SAMPLE_TEXT_SYMBOL];
    make("ab\xc3\xa9\n\xf0\x9f\x98\x80", TOKENIZER_CHARS, 0);
    for (size_t n = 0; n <= N; n++) {
        const size_t bytes = sample(out, n, 1, 1);
        cr_assert_eq(symbols(out, bytes), n);
        cr_assert(is_utf8(out, bytes));
    }
}

Test(sample_text, the_seed_decides_alone_and_dropout_is_off)
{
    char a[N * SAMPLE_TEXT_SYMBOL], b[N * SAMPLE_TEXT_SYMBOL], other[N * SAMPLE_TEXT_SYMBOL];
    make("abcdefghij\n", TOKENIZER_CHARS, 0.5);
    const size_t n = sample(a, N, 1, 1);
    cr_assert_eq(sample(b, N, 1, 2), n);
    cr_assert_arr_eq(a, b, n);
    model.config.dropout = 0;
    cr_assert_eq(sample(b, N, 1, 1), n);
    cr_assert_arr_eq(a, b, n);
    cr_assert(sample(other, N, 2, 1) != n || memcmp(a, other, n) != 0);
}

Test(sample_text, bytes_become_text_that_a_log_can_hold)
{
    char out[N * SAMPLE_TEXT_SYMBOL];
    make("any text", TOKENIZER_BYTES, 0);
    const size_t n = sample(out, N, 1, 1);
    cr_assert_eq(n, N, "a symbol is a byte");
    cr_assert(is_utf8(out, n));
    size_t replaced = 0;
    for (size_t i = 0; i < n; i++)
        replaced += out[i] == '?';
    cr_assert(replaced > 0 && replaced < N, "about half of random bytes: %zu", replaced);
}

Test(sample_text, starts_after_a_line_end_or_else_at_random)
{
    make("xyz\nuvw", TOKENIZER_CHARS, 0);
    uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
    cr_assert_eq(tokenizer_decode(&tokenizer, sample_text_start(&tokenizer, 1, 0), bytes), 1);
    cr_assert_eq(bytes[0], '\n');
    gpt_free(&model);
    tokenizer_free(&tokenizer);
    make("xyzuvw", TOKENIZER_CHARS, 0);
    bool seen[6] = {false};
    for (uint64_t seed = 0; seed < 100; seed++) {
        const uint32_t id = sample_text_start(&tokenizer, seed, 0);
        cr_assert_lt(id, 6);
        seen[id] = true;
    }
    for (size_t i = 0; i < 6; i++)
        cr_assert(seen[i], "symbol %zu is never first", i);
}

Test(sample_text, logits_that_are_not_finite_are_an_error)
{
    struct error err;
    char out[N * SAMPLE_TEXT_SYMBOL];
    size_t bytes;
    make("abc\n", TOKENIZER_CHARS, 0);
    model.params[model.table.size - 1] = (real)INFINITY;
    cr_assert_eq(sample_text(out, &bytes, &model, &tokenizer, N, 1, support_team(1), &err), STATUS_NONFINITE);
}

Test(sample_text, bare_ids_are_numbers_with_a_blank_between)
{
    char out[N * SAMPLE_TEXT_SYMBOL + 1];
    make("0 1234 7", TOKENIZER_IDS, 0);
    const size_t n = sample(out, N, 1, 1);
    out[n] = '\0';
    uint32_t *ids;
    size_t count;
    struct error err;
    cr_assert_eq(tokenizer_encode(&tokenizer, &ids, &count, (const uint8_t *)out, n, "sample", &err), STATUS_OK, "%s",
                 err.message);
    cr_assert_eq(count, N);
    cr_assert(out[0] != ' ' && n > 0 && out[n - 1] != ' ' && !strstr(out, "  "), "\"%s\"", out);
    free(ids);
}

Test(sample_text, ids_that_stand_for_nothing_are_never_written)
{
    char out[N * SAMPLE_TEXT_SYMBOL];
    struct error err;
    make("abcdefghij", TOKENIZER_CHARS, 0);
    /* All but two characters lose their ids; the model is as it was. */
    for (size_t id = 0; id < tokenizer.size; id++)
        tokenizer.symbol[id] = id == 7 ? 'x' : id == 2 ? 'y' : TOKENIZER_NOTHING;
    struct tokenizer few;
    cr_assert_eq(tokenizer_make_order(&few, TOKENIZER_CHARS, tokenizer.symbol, tokenizer.size, "few", &err), STATUS_OK);
    tokenizer = few;
    for (uint64_t seed = 0; seed < 5; seed++) {
        const uint32_t start = sample_text_start(&tokenizer, seed, 0);
        cr_assert(start == 7 || start == 2);
        const size_t n = sample(out, N, seed, 1);
        cr_assert_eq(n, N);
        for (size_t i = 0; i < n; i++)
            cr_assert(out[i] == 'x' || out[i] == 'y', "%c", out[i]);
    }
}
