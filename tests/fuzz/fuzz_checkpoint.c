/* A whole checkpoint folder (fuzz.h says how its files stand in the input). A folder that is accepted is written again
 * as a checkpoint, which reads back with the same bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "store/checkpoint.h"

static void write_again(const struct checkpoint *c, bool with_optimizer)
{
    struct error err;
    struct checkpoint again;
    fuzz_remove("run");
    const char *dir = fuzz_path("run");
    fuzz_require(mkdir(dir, 0700) == 0, "%s", dir);
    fuzz_clear(&err);
    fuzz_require(checkpoint_write(dir, 10, &c->model, &c->tokenizer, with_optimizer ? &c->moments : NULL, c->state,
                                  &err) == STATUS_OK,
                 "%s", err.message);
    fuzz_require(checkpoint_read(&again, fuzz_path("run/step-000010"), with_optimizer, &err) == STATUS_OK, "%s",
                 err.message);
    const size_t n = c->model.table.size;
    fuzz_require(again.model.table.size == n, "%zu parameters", again.model.table.size);
    for (size_t i = 0; i < n; i++) {
        fuzz_require(c->model.params[i] == again.model.params[i] && isfinite(c->model.params[i]), "place %zu", i);
        if (with_optimizer)
            fuzz_require(c->moments.m[i] == again.moments.m[i] && c->moments.v[i] == again.moments.v[i], "moment %zu",
                         i);
    }
    fuzz_require(tokenizer_same(&c->tokenizer, "a", &again.tokenizer, "b", &err) == STATUS_OK, "%s", err.message);
    checkpoint_free(&again);
}

int fuzz_checkpoint(const uint8_t *bytes, size_t n)
{
    fuzz_unpack("model", bytes, n);
    for (int with_optimizer = 0; with_optimizer < 2; with_optimizer++) {
        struct error err;
        struct checkpoint c;
        fuzz_clear(&err);
        const enum status s = checkpoint_read(&c, fuzz_path("model"), with_optimizer, &err);
        if (s != STATUS_OK) {
            fuzz_refused(s, &err);
            fuzz_require(!c.path && !c.model.params && !c.tokenizer.symbol && !c.state && !c.moments.m && !c.moments.v,
                         "something is left");
            continue;
        }
        fuzz_accepted();
        write_again(&c, with_optimizer);
        checkpoint_free(&c);
    }
    return 0;
}
