/* Any bytes as trainer_state.json. A state that is accepted keeps within its bounds and comes back from what is written
 * of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "store/checkpoint.h"
#include "store/state.h"

static enum status read(struct state *s, const uint8_t *bytes, size_t n, struct error *err)
{
    json_t *json;
    *s = (struct state){0};
    fuzz_clear(err);
    enum status status = json_text_parse(&json, "trainer_state.json", bytes, n, 0, &checkpoint_state_limits, err);
    if (status == STATUS_OK)
        status = state_from_json(s, json, "trainer_state.json", err);
    json_decref(json);
    return status;
}

static void require_sound(const struct state *s)
{
    fuzz_require(s->step <= STATE_MOST_STEPS, "step %zu", s->step);
    fuzz_require(s->best_step == STATE_NO_STEP || s->best_step <= s->step, "best step %zu", s->best_step);
    fuzz_require(s->seconds >= 0 && isfinite(s->seconds), "%g seconds", s->seconds);
    fuzz_require(s->text_symbols <= s->text_bytes, "%zu symbols", s->text_symbols);
    fuzz_require(hash_is_text(s->text_hash), "hash %s", s->text_hash);
    fuzz_require(json_is_object(s->settings), "no settings");
    fuzz_require(!s->check || !strpbrk(s->check, "\n\r\x1b"), "'%s'", s->check);
}

static void require_same(const struct state *a, const struct state *b)
{
    fuzz_require(a->step == b->step && a->best_step == b->best_step && a->leaky == b->leaky, "steps");
    fuzz_require(a->seconds == b->seconds, "%.17g and %.17g seconds", a->seconds, b->seconds);
    fuzz_require(a->best_loss == b->best_loss || (isnan(a->best_loss) && isnan(b->best_loss)), "best loss");
    fuzz_require(!a->check == !b->check && (!a->check || strcmp(a->check, b->check) == 0), "check");
    fuzz_require(a->text_bytes == b->text_bytes && a->text_symbols == b->text_symbols && a->n_texts == b->n_texts &&
                     strcmp(a->text_hash, b->text_hash) == 0,
                 "text");
    for (size_t i = 0; i < a->n_texts; i++)
        fuzz_require(strcmp(a->text[i], b->text[i]) == 0, "path %zu", i);
    fuzz_require(json_equal(a->settings, b->settings), "settings");
}

int fuzz_state(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct state s, again;
    const enum status status = read(&s, bytes, n, &err);
    if (status != STATUS_OK) {
        fuzz_refused(status, &err);
        fuzz_require(!s.text && !s.check && !s.settings, "something is left");
        return 0;
    }
    fuzz_accepted();
    require_sound(&s);
    json_t *json = state_to_json(&s);
    char *text = json_dumps(json, JSON_INDENT(2));
    fuzz_require(text, "not written");
    fuzz_require(read(&again, (const uint8_t *)text, strlen(text), &err) == STATUS_OK, "%s in %s", err.message, text);
    require_same(&s, &again);
    free(text);
    json_decref(json);
    state_free(&s);
    state_free(&again);
    return 0;
}
