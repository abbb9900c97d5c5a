/* The first byte is what the vocabulary is taken for, the rest a folder of another program (fuzz.h says how its files
 * stand in the input). A folder that is accepted becomes a run whose checkpoint has the same weights and symbols. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "store/checkpoint.h"
#include "store/import.h"

static void make_run(const struct import *m)
{
    struct error err;
    struct checkpoint c;
    fuzz_remove("run");
    fuzz_clear(&err);
    fuzz_require(import_write(m, fuzz_path("run"), false, &err) == STATUS_OK, "%s", err.message);
    fuzz_require(checkpoint_read(&c, fuzz_path("run/step-000000"), false, &err) == STATUS_OK, "%s", err.message);
    fuzz_require(c.model.table.size == m->model.table.size, "%zu parameters", c.model.table.size);
    for (size_t i = 0; i < c.model.table.size; i++)
        fuzz_require(c.model.params[i] == m->model.params[i] && isfinite(c.model.params[i]), "place %zu", i);
    fuzz_require(tokenizer_same(&c.tokenizer, "a", &m->tokenizer, "b", &err) == STATUS_OK, "%s", err.message);
    checkpoint_free(&c);
}

int fuzz_import(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct import m;
    if (n == 0)
        return 0;
    fuzz_unpack("theirs", bytes + 1, n - 1);
    fuzz_clear(&err);
    const enum status s = import_read(&m, fuzz_path("theirs"), (enum import_tokens)(bytes[0] % 4), &err);
    if (s != STATUS_OK) {
        fuzz_refused(s, &err);
        fuzz_require(!m.folder && !m.model.params && !m.tokenizer.symbol && !m.unknown, "something is left");
        return 0;
    }
    fuzz_accepted();
    make_run(&m);
    import_free(&m);
    return 0;
}
