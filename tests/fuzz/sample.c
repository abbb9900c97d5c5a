#include "fuzz/sample.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/state.h"

void sample_make(struct sample *s, bool bias, bool tied)
{
    struct error err;
    *s = (struct sample){.tokenizer = {.kind = TOKENIZER_CHARS}};
    fuzz_require(tokenizer_make_chars(&s->tokenizer, (const uint8_t *)SAMPLE_TEXT, sizeof SAMPLE_TEXT - 1, "text",
                                      &err) == STATUS_OK,
                 "%s", err.message);
    struct config c = config_make(1, 2, 4, 3, s->tokenizer.size);
    c.bias = bias;
    c.tied = tied;
    fuzz_require(gpt_create(&s->model, &c, &err) == STATUS_OK, "%s", err.message);
    params_init(s->model.params, &s->model.table, &c, 7);
    const size_t n = s->model.table.size;
    s->moments.m = calloc(n, sizeof(real));
    s->moments.v = calloc(n, sizeof(real));
    fuzz_require(s->moments.m && s->moments.v, "no memory");
    for (size_t i = 0; i < n; i++) {
        s->moments.m[i] = (real)i / 4096;
        s->moments.v[i] = (real)i / 8192;
    }
}

void sample_free(struct sample *s)
{
    gpt_free(&s->model);
    tokenizer_free(&s->tokenizer);
    free(s->moments.m);
    free(s->moments.v);
}

json_t *sample_state(void)
{
    struct error err;
    const char *const paths[] = {"a b.txt", "\xC3\xA9.txt"};
    struct state s = {.step = 10, .best_step = 5, .best_loss = 0.1 + 0.2, .seconds = 12.5, .leaky = true};
    s.text_bytes = 30;
    s.text_symbols = 29;
    hash_bytes(s.text_hash, "text", 4);
    s.settings = json_pack("{s:f, s:s, s:i, s:b}", "lr", 0.001, "preset", "nano-cpu", "steps", 600, "bias", 0);
    fuzz_require(state_set_text(&s, paths, 2, &err) == STATUS_OK, "%s", err.message);
    fuzz_require(state_set_check(&s, "no leak: all well", &err) == STATUS_OK, "%s", err.message);
    json_t *json = state_to_json(&s);
    fuzz_require(json, "no memory");
    state_free(&s);
    return json;
}
