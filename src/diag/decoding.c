#include "diag/decoding.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "diag/noise.h"
#include "model/decode.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-11
#else
#define NEAR 1e-5
#endif

#define ROWS 3      /* texts at once */
#define ROW_STEPS 4 /* symbols decoded for each of them within the context, at most */
#define SLIDES 40   /* symbols decoded past the context, at most */

struct trial {
    const struct gpt *g;
    struct work *w;
    struct decode d;
    size_t slides;    /* past the context */
    size_t T, V, n;   /* n: symbols */
    uint32_t *tokens; /* (n) */
    double allowed;   /* for logits of passes of other shapes, times max(1, largest |logit|) */
    size_t compared;
    enum status failed; /* memory was refused on the way: nothing can be said */
    struct error *err;
    struct verdict *v;
};

static void blame(const struct trial *t, const char *what)
{
    struct verdict_finding *f = verdict_find(t->v, "decode", "%s", what);
    snprintf(f->operation, sizeof f->operation, "decode");
}

/* Logits after the first n symbols, by a pass over the last T of them. */
static const real *by_window(const struct trial *t, const uint32_t *tokens, size_t n)
{
    const size_t T = n < t->T ? n : t->T;
    gpt_forward(t->g, t->w, tokens + (n - T), 1, T, &gpt_quiet);
    return t->w->logits + (T - 1) * t->V;
}

/* True when the decoder's logits after n symbols of a text are not what a pass gives. */
static bool text_differs(struct trial *t, const uint32_t *tokens, const real *found, size_t n)
{
    const real *want = by_window(t, tokens, n);
    double scale = 1, off = 0;
    for (size_t k = 0; k < t->V; k++) {
        const double error = fabs((double)found[k] - (double)want[k]);
        scale = fmax(scale, fabs((double)want[k]));
        off = error <= off ? off : error;
    }
    t->compared++;
    return !(off <= t->allowed * scale);
}

static bool differs(struct trial *t, const real *found, size_t n)
{
    return text_differs(t, t->tokens, found, n);
}

/* One symbol after another from the start, compared at the positions chosen. */
static bool steps_differ(struct trial *t, const size_t *at, size_t count)
{
    bool differ = false;
    decode_reset(&t->d);
    for (size_t n = 1, k = 0; n <= t->T; n++) {
        const real *found = decode_append(&t->d, t->tokens + n - 1, 1);
        if (k < count && at[k] + 1 == n) {
            differ |= differs(t, found, n);
            k++;
        }
    }
    return differ;
}

/* A prompt of n symbols at once, and as far as the context goes one more, then two at once. */
static bool prompt_differs(struct trial *t, size_t n)
{
    /* first another text, so that what is not written anew is not right by chance */
    decode_reset(&t->d);
    (void)decode_append(&t->d, t->tokens + t->n - t->T, t->T);
    decode_reset(&t->d);
    bool differ = differs(t, decode_append(&t->d, t->tokens, n), n);
    for (size_t more = 1; more <= 2 && n + more <= t->T; more++) {
        differ |= differs(t, decode_append(&t->d, t->tokens + n, more), n + more);
        n += more;
    }
    return differ;
}

/* Past the end of the context: symbol by symbol, by two, and by prompts that are longer. */
static bool slides_differ(struct trial *t)
{
    bool differ = false;
    size_t n = t->T;
    decode_reset(&t->d);
    (void)decode_append(&t->d, t->tokens, n);
    for (size_t slide = 0; slide < t->slides; slide++, n++)
        differ |= differs(t, decode_append(&t->d, t->tokens + n, 1), n + 1);
    if (t->T >= 2)
        differ |= differs(t, decode_append(&t->d, t->tokens + n, 2), n + 2);
    const size_t longer[] = {t->T + 1, t->T + 3, t->n};
    for (size_t k = 0; k < 3; k++) {
        decode_reset(&t->d);
        differ |= differs(t, decode_append(&t->d, t->tokens, longer[k]), longer[k]);
    }
    return differ;
}

/* Several texts that begin with the same n symbols and go on differently, one of which ends on the way; as far as the
 * context goes, and two symbols further. */
static bool rows_differ(struct trial *t, size_t n)
{
    const size_t more = (t->T - n < ROW_STEPS ? t->T - n : ROW_STEPS) + 2, size = n + more;
    uint32_t *text = malloc(ROWS * size * sizeof *text);
    if (!text) {
        t->failed = fail(t->err, STATUS_MEMORY, "check: out of memory");
        return false;
    }
    for (size_t r = 0; r < ROWS; r++) {
        memcpy(text + r * size, t->tokens, n * sizeof *text);
        /* no two go on alike, where there are that many symbols */
        for (size_t k = n; k < size; k++)
            text[r * size + k] = (uint32_t)((t->tokens[k] + r) % t->V);
    }
    decode_reset(&t->d);
    (void)decode_append(&t->d, t->tokens, n);
    decode_fork(&t->d, ROWS);
    size_t which[ROWS], rows = ROWS;
    for (size_t r = 0; r < ROWS; r++)
        which[r] = r;
    bool differ = false;
    for (size_t k = n; k < size; k++) {
        uint32_t next[ROWS];
        for (size_t r = 0; r < rows; r++)
            next[r] = text[which[r] * size + k];
        const real *found = decode_step(&t->d, next);
        for (size_t r = 0; r < rows; r++)
            differ |= text_differs(t, text + which[r] * size, found + r * t->V, k + 1);
        if (k == n + more / 2) { /* the last one is moved */
            decode_drop(&t->d, 0);
            which[0] = which[--rows];
        }
    }
    free(text);
    return differ;
}

/* The same text must give the same bits in a decoder that has just read another. */
static bool reset_differs(struct trial *t, size_t n)
{
    struct decode fresh;
    t->failed = t->failed ? t->failed : decode_create(&fresh, t->g, 1, t->w->team, t->err);
    if (t->failed)
        return false;
    decode_reset(&t->d);
    (void)decode_append(&t->d, t->tokens + t->n - n, n);
    decode_reset(&t->d);
    const real *found = decode_append(&t->d, t->tokens, n), *want = decode_append(&fresh, t->tokens, n);
    bool differ = false;
    for (size_t k = 0; k < t->V; k++)
        differ |= found[k] != want[k];
    decode_free(&fresh);
    t->compared++;
    return differ;
}

/* What the first n - 1 symbols leave in the cache must not depend on the last. */
static bool cache_peeks(struct trial *t, size_t n)
{
    const size_t C = t->g->config.n_embd, L = t->g->config.n_layer, row = (n - 1) * C;
    if (t->V < 2 || t->d.recompute) /* a model that computes its window anew keeps no cache */
        return false;
    real *kept = malloc(2 * L * row * sizeof *kept);
    if (!kept) {
        t->failed = fail(t->err, STATUS_MEMORY, "check: memory for a copy of the cache was refused");
        return false;
    }
    decode_reset(&t->d);
    (void)decode_append(&t->d, t->tokens, n);
    for (size_t layer = 0; layer < L; layer++) {
        memcpy(kept + 2 * layer * row, t->d.cache[layer].k, row * sizeof *kept);
        memcpy(kept + (2 * layer + 1) * row, t->d.cache[layer].v, row * sizeof *kept);
    }
    const uint32_t old = t->tokens[n - 1];
    t->tokens[n - 1] = (old + 1) % (uint32_t)t->V;
    decode_reset(&t->d);
    (void)decode_append(&t->d, t->tokens, n);
    t->tokens[n - 1] = old;
    bool peeks = false;
    for (size_t layer = 0; layer < L; layer++)
        for (size_t k = 0; k < row; k++)
            peeks |= kept[2 * layer * row + k] != t->d.cache[layer].k[k] ||
                     kept[(2 * layer + 1) * row + k] != t->d.cache[layer].v[k];
    free(kept);
    t->compared++;
    return peeks;
}

static enum status run(struct trial *t, size_t lengths)
{
    size_t at[DECODING_LENGTHS];
    const size_t count = chart_positions(at, lengths, t->T);
    bool steps = steps_differ(t, at, count), prompts = false, peeks = false, reset = false, rows = false;
    for (size_t k = 0; k < count; k++) {
        const size_t n = at[k] + 1;
        prompts |= prompt_differs(t, n);
        if (k % 4 == 0) {
            reset |= reset_differs(t, n);
            rows |= rows_differ(t, n);
        }
        peeks |= n > 1 && cache_peeks(t, n);
    }
    if (t->failed)
        return t->failed;
    const bool slides = slides_differ(t), any = steps || prompts || slides || peeks || reset || rows;
    verdict_say(t->v, "decode", any ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                any ? "some of %zu comparisons differ"
                    : "%zu comparisons: symbol by symbol, by prompts, past the context, after a reset and for several "
                      "texts at once it gives what whole windows give",
                t->compared);
    if (reset) { /* nothing else can be judged by a decoder that remembers */
        blame(t, "after a reset the logits depend on the text before it: the cache is stale");
        return STATUS_OK;
    }
    if (peeks)
        blame(t, "a prompt's cached keys and values depend on what comes after them: no mask while it is read");
    if (steps)
        blame(t, "symbol by symbol the logits are not those of a whole window: look at the cache's positions");
    else if (prompts && !peeks)
        blame(t, "after a prompt the logits are not those of a whole window");
    if (rows && !steps && !slides)
        blame(t, "of several texts at once the logits are not those of each alone: their caches are mixed up");
    if (slides && !steps)
        blame(t, "past the context the logits are not those of the window: the cache is stale");
    return STATUS_OK;
}

enum status decoding_check(struct verdict *v, const struct gpt *g, struct work *w, size_t lengths, uint64_t seed,
                           struct error *err)
{
    struct gpt plain = *g; /* a decoder computes in fp32, and is held against whole windows that do */
    plain.config.precision = PRECISION_FP32;
    struct trial t = {.g = &plain, .w = w, .T = g->config.block_size, .V = g->config.vocab_size, .v = v, .err = err};
    assert(w->T == t.T && lengths <= DECODING_LENGTHS);
    t.slides = t.T + 5 < SLIDES ? t.T + 5 : lengths < DECODING_LENGTHS ? 8 : SLIDES;
    t.n = 2 * t.T + t.slides + 2;
    t.tokens = malloc(t.n * sizeof *t.tokens);
    if (!t.tokens)
        return fail(err, STATUS_MEMORY, "check: out of memory");
    enum status s = decode_create(&t.d, &plain, ROWS, w->team, err);
    if (!s) {
        const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 7};
        for (size_t k = 0; k < t.n; k++)
            t.tokens[k] = (uint32_t)rng_below(&site, (uint32_t)k, t.V);
        struct noise noise;
        s = noise_measure(&noise, &plain, w, t.tokens, t.tokens + 1, 1, t.T, seed, err);
        t.allowed = NEAR + 8 * noise.logits;
        if (!s)
            s = run(&t, lengths);
        decode_free(&t.d);
    }
    free(t.tokens);
    return s;
}
