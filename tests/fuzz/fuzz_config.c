/* Any bytes as config.json, ours or of a folder that is imported. A config that is accepted is sound, and comes back
 * from what is written of it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/checkpoint.h"
#include "store/hf_config.h"

static enum status read(struct config *c, bool foreign, const uint8_t *bytes, size_t n, struct error *err)
{
    json_t *json;
    struct hf_config_foreign found;
    fuzz_clear(err);
    enum status s = json_text_parse(&json, "config.json", bytes, n, 0, &checkpoint_config_limits, err);
    if (s == STATUS_OK)
        s = foreign ? hf_config_read_foreign(c, &found, json, "config.json", err)
                    : hf_config_read(c, json, "config.json", err);
    json_decref(json);
    return s;
}

static void require_same(const struct config *a, const struct config *b)
{
    fuzz_require(a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_embd == b->n_embd &&
                     a->head_size == b->head_size && a->block_size == b->block_size && a->vocab_size == b->vocab_size,
                 "sizes");
    fuzz_require(a->bias == b->bias && a->tied == b->tied && a->window == b->window && a->declared == b->declared &&
                     a->trained == b->trained,
                 "kinds");
    fuzz_require(a->dropout == b->dropout && a->norm_epsilon == b->norm_epsilon, "numbers");
}

int fuzz_config(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct config c, again;
    enum status s = read(&c, false, bytes, n, &err);
    /* The rules for folders of other programs are looser, never other: what is ours means the same by them. */
    if (s == STATUS_OK) {
        fuzz_require(read(&again, true, bytes, n, &err) == STATUS_OK, "%s", err.message);
        require_same(&c, &again);
    } else {
        s = read(&c, true, bytes, n, &err);
    }
    if (s != STATUS_OK) {
        fuzz_refused(s, &err);
        return 0;
    }
    fuzz_accepted();
    fuzz_require(config_check(&c, &err) == STATUS_OK, "%s", err.message);
    json_t *json = hf_config_make(&c);
    char *text = json_dumps(json, JSON_INDENT(2));
    fuzz_require(text, "not written");
    fuzz_require(read(&again, false, (const uint8_t *)text, strlen(text), &err) == STATUS_OK, "%s in %s", err.message,
                 text);
    require_same(&c, &again);
    free(text);
    json_decref(json);
    return 0;
}
