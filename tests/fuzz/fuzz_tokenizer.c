/* Any bytes as tokenizer.json. A vocabulary that is accepted comes back from what is written of it, and every symbol's
 * text is encoded to that symbol. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/checkpoint.h"
#include "text/tokenizer.h"

#define TRIED 512 /* symbols, spread over the vocabulary */

static enum status read(struct tokenizer *t, const uint8_t *bytes, size_t n, struct error *err)
{
    json_t *json;
    fuzz_clear(err);
    *t = (struct tokenizer){0};
    enum status s = json_text_parse(&json, "tokenizer.json", bytes, n, 0, &checkpoint_tokenizer_limits, err);
    if (s == STATUS_OK)
        s = tokenizer_from_json(t, json, "tokenizer.json", err);
    json_decref(json);
    return s;
}

static void symbols_survive(const struct tokenizer *t)
{
    const size_t stride = t->size / TRIED + 1;
    for (size_t id = 0; id < t->size; id += stride) {
        struct error err;
        uint8_t text[TOKENIZER_SYMBOL_SIZE];
        uint32_t *ids;
        size_t count;
        const size_t length = tokenizer_decode(t, (uint32_t)id, text);
        char label[TOKENIZER_LABEL_SIZE];
        tokenizer_label(t, (uint32_t)id, label);
        fuzz_require(label[0] != '\0', "id %zu has no label", id);
        fuzz_clear(&err);
        fuzz_require((length > 0) == tokenizer_knows(t, (uint32_t)id), "id %zu: %zu bytes", id, length);
        if (length == 0)
            continue;
        fuzz_require(length <= sizeof text, "id %zu: %zu bytes", id, length);
        fuzz_require(tokenizer_encode(t, &ids, &count, text, length, "text", &err) == STATUS_OK, "id %zu: %s", id,
                     err.message);
        fuzz_require(count == 1 && ids[0] == id, "id %zu", id);
        free(ids);
    }
}

/* Not only what can be read is the same, but the ids. */
static void require_same_ids(const struct tokenizer *a, const struct tokenizer *b)
{
    const size_t stride = a->size / TRIED + 1;
    fuzz_require(a->kind == b->kind && a->size == b->size, "%zu symbols and %zu", a->size, b->size);
    for (size_t id = 0; id < a->size; id += stride) {
        uint8_t of_a[TOKENIZER_SYMBOL_SIZE], of_b[TOKENIZER_SYMBOL_SIZE];
        const size_t n = tokenizer_decode(a, (uint32_t)id, of_a), m = tokenizer_decode(b, (uint32_t)id, of_b);
        fuzz_require(n == m && memcmp(of_a, of_b, n) == 0, "id %zu", id);
    }
}

int fuzz_tokenizer(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct tokenizer t, again;
    const enum status s = read(&t, bytes, n, &err);
    if (s != STATUS_OK) {
        fuzz_refused(s, &err);
        fuzz_require(!t.symbol && t.size == 0, "something is left");
        return 0;
    }
    fuzz_accepted();
    symbols_survive(&t);
    json_t *json = tokenizer_to_json(&t);
    char *text = json_dumps(json, 0);
    fuzz_require(text, "not written");
    fuzz_require(read(&again, (const uint8_t *)text, strlen(text), &err) == STATUS_OK, "%s", err.message);
    fuzz_require(tokenizer_same(&t, "a", &again, "b", &err) == STATUS_OK, "%s", err.message);
    require_same_ids(&t, &again);
    free(text);
    json_decref(json);
    tokenizer_free(&t);
    tokenizer_free(&again);
    return 0;
}
