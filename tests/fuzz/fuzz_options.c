/* Any bytes as the settings saved with a run. Settings that are accepted are within their ranges, and come back from
 * what is saved of them. */
#include <stdlib.h>
#include <string.h>

#include "cli/train_options.h"
#include "fuzz/fuzz.h"
#include "store/checkpoint.h"

static char *const command_line[] = {"train", NULL};

static void begin(struct options *o, struct train_options *t)
{
    struct error err;
    *t = (struct train_options){0};
    fuzz_require(options_parse(o, "train", train_options_table, t, 1, command_line, &err) == STATUS_OK, "%s",
                 err.message);
}

static void save_again(const struct options *o)
{
    struct error err;
    struct options other;
    struct train_options t;
    json_t *saved = options_save(o);
    fuzz_require(saved, "not saved");
    begin(&other, &t);
    fuzz_clear(&err);
    fuzz_require(options_load(&other, saved, OPTIONS_SAVED, "run", &err) == STATUS_OK, "%s", err.message);
    json_t *again = options_save(&other);
    fuzz_require(json_equal(saved, again), "other settings");
    json_decref(again);
    json_decref(saved);
    options_free(&other);
}

int fuzz_options(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct options o;
    struct train_options t;
    json_t *settings;
    fuzz_clear(&err);
    enum status s = json_text_parse(&settings, "trainer_state.json", bytes, n, 0, &checkpoint_state_limits, &err);
    if (s != STATUS_OK) {
        fuzz_refused(s, &err);
        return 0;
    }
    begin(&o, &t);
    s = json_is_object(settings) ? options_load(&o, settings, OPTIONS_SAVED, "run", &err) : STATUS_OK;
    if (s == STATUS_OK) {
        fuzz_accepted();
        save_again(&o);
    } else {
        fuzz_refused(s, &err);
    }
    options_free(&o);
    json_decref(settings);
    return 0;
}
