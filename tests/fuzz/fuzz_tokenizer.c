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
        uint8_t text[4];
        uint32_t *ids;
        size_t count;
        const size_t length = tokenizer_decode(t, (uint32_t)id, text);
        fuzz_clear(&err);
        fuzz_require(length >= 1 && length <= 4, "id %zu: %zu bytes", id, length);
        fuzz_require(tokenizer_encode(t, &ids, &count, text, length, "text", &err) == STATUS_OK, "id %zu: %s", id,
                     err.message);
        fuzz_require(count == 1 && ids[0] == id, "id %zu", id);
        free(ids);
        char label[TOKENIZER_LABEL_SIZE];
        tokenizer_label(t, (uint32_t)id, label);
        fuzz_require(label[0] != '\0', "id %zu has no label", id);
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
    free(text);
    json_decref(json);
    tokenizer_free(&t);
    tokenizer_free(&again);
    return 0;
}
