#include "train/sample_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/decode.h"
#include "model/sample.h"

uint32_t sample_text_start(const struct tokenizer *tokenizer, uint64_t seed, uint32_t sample)
{
    uint32_t id;
    if (tokenizer->kind != TOKENIZER_IDS && tokenizer_find(tokenizer, '\n', &id))
        return id;
    const struct rng_site site = {.seed = seed, .purpose = RNG_SAMPLE, .row = sample, .head = 1};
    const uint32_t drawn = (uint32_t)rng_below(&site, 0, tokenizer_count(tokenizer));
    return tokenizer->order ? tokenizer->order[drawn] : drawn;
}

static enum status write_symbols(char *out, size_t *bytes, struct decode *d, const struct tokenizer *tokenizer,
                                 size_t n, uint64_t seed, const bool *silent, struct sample_scratch *scratch,
                                 struct error *err)
{
    struct sample_options o = sample_defaults();
    o.never = silent;
    o.temperature = 0.8;
    o.seed = seed;
    uint32_t id = sample_text_start(tokenizer, seed, 0);
    for (size_t i = 0; i < n; i++) {
        const real *logits = decode_append(d, &id, 1);
        const enum status s = sample_choose(&id, logits, tokenizer->size, &o, 0, (uint32_t)i, scratch, err);
        if (s)
            return s;
        if (tokenizer->kind == TOKENIZER_IDS && i > 0)
            out[(*bytes)++] = ' ';
        uint8_t symbol[TOKENIZER_SYMBOL_SIZE];
        const size_t length = tokenizer_decode(tokenizer, id, symbol);
        memcpy(out + *bytes, symbol, length);
        *bytes += length;
    }
    return STATUS_OK;
}

enum status sample_text(char *out, size_t *bytes, const struct gpt *model, const struct tokenizer *tokenizer, size_t n,
                        uint64_t seed, struct team team, struct error *err)
{
    *bytes = 0;
    struct decode d;
    enum status s = decode_create(&d, model, 1, team, err);
    if (s)
        return s;
    struct arena arena = {0};
    struct sample_scratch scratch;
    bool *silent;
    sample_layout(&scratch, &arena, tokenizer->size);
    s = tokenizer_silent(&silent, tokenizer, err);
    if (!s)
        s = arena_place(&arena, err);
    if (!s) {
        sample_layout(&scratch, &arena, tokenizer->size);
        s = write_symbols(out, bytes, &d, tokenizer, n, seed, silent, &scratch, err);
    }
    free(silent);
    /* Bytes drawn one by one need not be UTF-8; a log line must be. */
    for (size_t i = 0; tokenizer->kind == TOKENIZER_BYTES && i < *bytes; i++)
        if ((unsigned char)out[i] >= 0x80 || out[i] == '\0')
            out[i] = '?';
    arena_free(&arena);
    decode_free(&d);
    return s;
}
