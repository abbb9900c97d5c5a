#include "model/decode.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/tiny.h"

/* Cached and uncached passes multiply matrices of other heights, so the last bits may differ: the limit is relative to
 * max(1, largest |logit|). */
#ifdef NOPEEK_DOUBLE
#define NEAR 1e-12
#else
#define NEAR 1e-5
#endif

/* A context longer than a strip of attention's products and than the fewest rows that wake a team; a text of three of
 * them. */
enum { BLOCK = 20, TEXT = 3 * BLOCK + 7 };

static void make(struct tiny *t, size_t block, bool bias, bool tied)
{
    struct config c = config_make(2, 2, 6, block, 11);
    c.bias = bias;
    c.tied = tied;
    c.dropout = 0.5; /* which decoding must take no notice of */
    tiny_make(t, &c, TEXT, 1, block, 1);
}

static struct decode decoder(const struct tiny *t, int threads)
{
    struct error err;
    struct decode d;
    cr_assert_eq(decode_create(&d, &t->model, 1, support_team(threads), &err), STATUS_OK, "%s", err.message);
    return d;
}

/* After n symbols of the text: is `logits` what the last of them gives in a pass over the whole window? */
static void expect_uncached(struct tiny *t, const real *logits, size_t n, const char *how)
{
    const size_t V = t->model.config.vocab_size, block = t->model.config.block_size;
    const size_t T = n < block ? n : block;
    gpt_forward(&t->model, &t->work, t->tokens + (n - T), 1, T, &gpt_evaluating);
    const real *want = t->work.logits + (T - 1) * V;
    double scale = 1;
    for (size_t v = 0; v < V; v++)
        scale = fmax(scale, fabs((double)want[v]));
    const double off = tiny_distance(logits, want, V);
    cr_expect(off <= NEAR * scale, "%s: after %zu symbols logits are off by %.3g", how, n, off);
}

Test(decode, one_symbol_at_a_time_agrees_at_every_position_and_past_the_edge)
{
    static const size_t BLOCKS[] = {1, 2, 15, 16, 17, BLOCK};
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        struct tiny t;
        make(&t, BLOCKS[i], i % 2, i % 3);
        struct decode d = decoder(&t, 1);
        for (size_t n = 0; n < TEXT; n++)
            expect_uncached(&t, decode_append(&d, t.tokens + n, 1), n + 1, "one by one");
        decode_free(&d);
        tiny_free(&t);
    }
}

Test(decode, prompts_of_every_length_agree_and_can_be_continued)
{
    static const size_t PROMPTS[] = {1, 2, 17, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK};
    for (int threads = 1; threads <= 2; threads++)
        for (size_t i = 0; i < sizeof PROMPTS / sizeof *PROMPTS; i++) {
            struct tiny t;
            make(&t, BLOCK, true, true);
            struct decode d = decoder(&t, threads);
            size_t n = PROMPTS[i];
            expect_uncached(&t, decode_append(&d, t.tokens, n), n, "prompt");
            for (size_t k = 0; k < 7 && n < TEXT; k++) {
                const real *logits = decode_append(&d, t.tokens + n, 1);
                expect_uncached(&t, logits, ++n, "continued");
            }
            decode_free(&d);
            tiny_free(&t);
        }
}

/* However the text is cut, also where a piece begins before the edge and ends behind it. */
Test(decode, pieces_of_any_size_agree)
{
    struct tiny t;
    make(&t, BLOCK, true, true);
    struct decode d = decoder(&t, 1);
    for (size_t size = 2; size <= BLOCK + 2; size++) {
        decode_reset(&d);
        for (size_t n = 0; n + size <= TEXT; n += size)
            expect_uncached(&t, decode_append(&d, t.tokens + n, size), n + size, "pieces");
    }
    decode_free(&d);
    tiny_free(&t);
}

static void decode_text(struct decode *d, real *out, const uint32_t *tokens, size_t n)
{
    const size_t V = d->model->config.vocab_size;
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * V, decode_append(d, tokens + i, 1), V * sizeof *out);
}

Test(decode, after_a_reset_nothing_is_remembered)
{
    struct tiny t;
    make(&t, BLOCK, true, true);
    const size_t n = BLOCK + 3, size = n * t.model.config.vocab_size;
    real *fresh = malloc(size * sizeof *fresh), *second = malloc(size * sizeof *second);
    struct decode d = decoder(&t, 1);
    decode_text(&d, fresh, t.tokens, n);
    static const size_t BEFORE[] = {1, 5, BLOCK, TEXT};
    for (size_t i = 0; i < sizeof BEFORE / sizeof *BEFORE; i++) {
        decode_reset(&d);
        decode_append(&d, t.targets, BEFORE[i] < TEXT ? BEFORE[i] : TEXT);
        decode_reset(&d);
        decode_text(&d, second, t.tokens, n);
        cr_expect_eq(memcmp(fresh, second, size * sizeof *fresh), 0, "after %zu other symbols", BEFORE[i]);
    }
    /* Without the reset the other text is still there: the test sees a difference when there is one. */
    decode_reset(&d);
    decode_append(&d, t.targets, 5);
    decode_text(&d, second, t.tokens, n);
    cr_expect_neq(memcmp(fresh, second, size * sizeof *fresh), 0);
    decode_free(&d);
    free(second);
    free(fresh);
    tiny_free(&t);
}

Test(decode, two_texts_at_once_do_not_mix)
{
    struct tiny t;
    make(&t, BLOCK, true, true);
    const size_t V = t.model.config.vocab_size;
    real *alone = malloc(BLOCK * V * sizeof *alone);
    struct decode a = decoder(&t, 1), b = decoder(&t, 1);
    decode_text(&a, alone, t.tokens, BLOCK);
    decode_reset(&a);
    for (size_t i = 0; i < BLOCK; i++) {
        decode_append(&b, t.targets + i, 1);
        const real *logits = decode_append(&a, t.tokens + i, 1);
        cr_expect_eq(memcmp(logits, alone + i * V, V * sizeof *logits), 0);
    }
    decode_free(&b);
    decode_free(&a);
    free(alone);
    tiny_free(&t);
}

/* A window forgets, and its cache stays right. */
Test(decode, heads_with_a_window_are_decoded_from_the_cache)
{
    for (size_t window = 1; window <= BLOCK; window += BLOCK / 3) {
        struct tiny t;
        make(&t, BLOCK, true, true);
        for (size_t i = 0; i < t.model.config.n_layer * t.model.config.n_head; i++)
            t.model.rules[i] = i % 3 == 2 ? ATTENTION_CAUSAL : ATTENTION_WINDOW;
        t.model.config.window = window;
        struct decode d = decoder(&t, 1);
        cr_expect(!d.recompute);
        for (size_t n = 0; n < TEXT; n++)
            expect_uncached(&t, decode_append(&d, t.tokens + n, 1), n + 1, "window");
        decode_reset(&d);
        for (size_t n = 0; n + 5 <= TEXT; n += 5)
            expect_uncached(&t, decode_append(&d, t.tokens + n, 5), n + 5, "window, in pieces");
        decode_free(&d);
        tiny_free(&t);
    }
}

/* Three texts that begin alike and go on differently, row `ends` dropped after half of them: every row's logits against
 * a decoder that has only that text, bit for bit, into the part where windows slide. `mixed` plants a fault. Returns
 * how many logits differ. */
static size_t differing_rows(int threads, size_t prompt, size_t ends, bool full, bool mixed)
{
    enum { ROWS = 3, MORE = BLOCK + 3 };
    const struct fault fault = {.decode = FAULT_CACHE_NEXT_ROW};
    struct tiny t;
    struct error err;
    make(&t, BLOCK, true, true);
    t.model.rules[1] = full ? ATTENTION_FULL : ATTENTION_CAUSAL;
    const size_t V = t.model.config.vocab_size;
    struct decode alone[ROWS], together;
    for (size_t k = 0; k < ROWS; k++) {
        alone[k] = decoder(&t, 1);
        decode_append(&alone[k], t.tokens, prompt);
    }
    t.model.fault = mixed ? &fault : NULL;
    cr_assert_eq(decode_create(&together, &t.model, ROWS, support_team(threads), &err), STATUS_OK);
    decode_append(&together, t.tokens, prompt);
    decode_fork(&together, ROWS);
    size_t text[ROWS] = {0, 1, 2}, rows = ROWS, differ = 0;
    for (size_t n = 0; n < MORE; n++) {
        uint32_t next[ROWS];
        for (size_t r = 0; r < rows; r++)
            next[r] = t.targets[(text[r] * 17 + n) % TEXT];
        t.model.fault = mixed ? &fault : NULL;
        const real *logits = decode_step(&together, next);
        t.model.fault = NULL;
        for (size_t r = 0; r < rows; r++)
            differ += memcmp(decode_append(&alone[text[r]], next + r, 1), logits + r * V, V * sizeof *logits) != 0;
        if (n == MORE / 2) {
            decode_drop(&together, ends);
            text[ends] = text[--rows];
        }
    }
    decode_free(&together);
    for (size_t k = 0; k < ROWS; k++)
        decode_free(&alone[k]);
    tiny_free(&t);
    return differ;
}

Test(decode, each_row_of_a_batch_has_the_bits_that_it_has_alone)
{
    static const size_t PROMPTS[] = {1, 5, BLOCK - 1, BLOCK, BLOCK + 9};
    for (size_t k = 0; k < sizeof PROMPTS / sizeof *PROMPTS; k++)
        for (int threads = 1; threads <= 2; threads++)
            for (size_t ends = 0; ends < 3; ends++) {
                cr_expect_eq(differing_rows(threads, PROMPTS[k], ends, false, false), 0, "prompt %zu, row %zu ends",
                             PROMPTS[k], ends);
                cr_expect_eq(differing_rows(threads, PROMPTS[k], ends, true, false), 0, "rule full");
            }
    cr_expect_gt(differing_rows(1, 5, 0, false, true), 0, "rows that are mixed up are seen");
}

/* More rows than positions: the room for one symbol of each is larger than that for a window. */
Test(decode, there_can_be_more_rows_than_positions)
{
    enum { ROWS = 9 };
    struct tiny t;
    struct error err;
    make(&t, 4, true, false);
    const size_t V = t.model.config.vocab_size;
    struct decode d, alone = decoder(&t, 1);
    cr_assert_eq(decode_create(&d, &t.model, ROWS, support_team(2), &err), STATUS_OK);
    decode_append(&d, t.tokens, 2);
    decode_fork(&d, ROWS);
    for (size_t n = 1; n <= 3; n++) { /* two fit, then windows slide */
        const real *logits = decode_step(&d, t.targets + n * ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            decode_reset(&alone);
            const real *want = decode_append(&alone, t.tokens, 2);
            for (size_t k = 1; k <= n; k++)
                want = decode_append(&alone, t.targets + k * ROWS + r, 1);
            cr_expect_eq(memcmp(want, logits + r * V, V * sizeof *want), 0, "row %zu, symbol %zu", r, n);
        }
    }
    decode_free(&d);
    decode_free(&alone);
    tiny_free(&t);
}

/* Where one head sees everything, what a cache holds goes stale with each symbol. */
Test(decode, a_head_that_sees_everything_is_computed_again)
{
    struct tiny t;
    make(&t, BLOCK, true, true);
    t.model.rules[1] = ATTENTION_FULL; /* of the first layer, so that the second one's keys change */
    struct decode d = decoder(&t, 1);
    for (size_t n = 0; n < TEXT; n++)
        expect_uncached(&t, decode_append(&d, t.tokens + n, 1), n + 1, "rule full");
    /* The same weights from a cache would answer otherwise, so the test can tell. */
    decode_reset(&d);
    d.recompute = false;
    for (size_t n = 0; n < BLOCK; n++)
        decode_append(&d, t.tokens + n, 1);
    gpt_forward(&t.model, &t.work, t.tokens, 1, BLOCK, &gpt_evaluating);
    const size_t V = t.model.config.vocab_size;
    cr_expect_gt(tiny_distance(d.work.logits, t.work.logits + (BLOCK - 1) * V, V), 1e-3);
    decode_free(&d);
    tiny_free(&t);
}

Test(decode, a_cache_too_large_for_the_machine_is_refused)
{
    struct error err = {""};
    struct tiny t;
    struct decode d;
    make(&t, BLOCK, true, true);
    t.model.config.block_size = (size_t)1 << 60; /* as decode_create sees it: 2^60 positions, each of several numbers */
    cr_expect_eq(decode_create(&d, &t.model, 1, support_team(1), &err), STATUS_RANGE, "%s", err.message);
    cr_expect(strstr(err.message, "choose"), "%s", err.message);
    t.model.config.block_size = BLOCK;
    tiny_free(&t);
}
