/* Any bytes as optimizer.safetensors of the sample model. Moments that are accepted are finite, squares not negative,
 * and come back from what is written of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/sample.h"
#include "store/tensors.h"

static enum status read(const struct sample *s, const char *path, struct error *err)
{
    struct safetensors file;
    fuzz_clear(err);
    enum status status = safetensors_open(&file, path, err);
    if (status != STATUS_OK)
        return status;
    status = tensors_read_moments(s->moments.m, s->moments.v, &s->model.table, &file, err);
    safetensors_close(&file);
    return status;
}

static void write_again(const struct sample *s)
{
    static struct sample other;
    struct error err;
    uint8_t *bytes;
    size_t size;
    const size_t n = s->model.table.size * sizeof(real);
    if (!other.model.params)
        sample_make(&other, false, true);
    fuzz_require(tensors_build_moments(&bytes, &size, &s->model.table, s->moments.m, s->moments.v, &err) == STATUS_OK,
                 "%s", err.message);
    fuzz_require(read(&other, fuzz_file("again", bytes, size), &err) == STATUS_OK, "%s", err.message);
    fuzz_require(memcmp(s->moments.m, other.moments.m, n) == 0 && memcmp(s->moments.v, other.moments.v, n) == 0,
                 "other numbers");
    free(bytes);
}

int fuzz_optimizer(const uint8_t *bytes, size_t n)
{
    static struct sample s; /* made once: its moments are all written again, or not looked at */
    struct error err;
    if (!s.model.params)
        sample_make(&s, false, true);
    const enum status status = read(&s, fuzz_file("f", bytes, n), &err);
    if (status == STATUS_OK) {
        fuzz_accepted();
        for (size_t i = 0; i < s.model.table.size; i++)
            fuzz_require(isfinite(s.moments.m[i]) && isfinite(s.moments.v[i]) && s.moments.v[i] >= 0, "place %zu", i);
        write_again(&s);
    } else {
        fuzz_refused(status, &err);
    }
    return 0;
}
