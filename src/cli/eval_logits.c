#include "cli/eval_logits.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "io/commit.h"
#include "io/safetensors.h"

static enum status write_file(const char *path, const real *tokens, const real *logits, size_t T, size_t V,
                              struct error *err)
{
    for (size_t i = 0; i < T * V; i++)
        if (!isfinite(logits[i]))
            return fail(err, STATUS_NONFINITE, "the logit of id %zu after symbol %zu is %g: the weights are spoiled",
                        i % V, i / V + 1, (double)logits[i]);
    const struct safetensors_item items[] = {{.name = "tokens", .n_dims = 1, .shape = {T}, .values = tokens},
                                             {.name = "logits", .n_dims = 2, .shape = {T, V}, .values = logits}};
    uint8_t *bytes;
    size_t size;
    enum status s = safetensors_build(&bytes, &size, items, 2, err);
    if (s != STATUS_OK)
        return s;
    s = commit_file(path, bytes, size, err);
    free(bytes);
    return s;
}

/* tokens (T) and ids (T) are room to work in. */
static enum status write_window(const char *path, const struct gpt *g, const struct dataset *d, size_t begin,
                                uint32_t *ids, real *tokens, size_t T, struct team team, struct error *err)
{
    struct work work;
    enum status s = work_create(&work, &g->config, 1, T, false, team, err);
    if (s != STATUS_OK)
        return s;
    for (size_t t = 0; t < T; t++) {
        ids[t] = dataset_id(d, begin + t);
        tokens[t] = (real)ids[t];
    }
    gpt_forward(g, &work, ids, 1, T, &gpt_quiet);
    s = write_file(path, tokens, work.logits, T, g->config.vocab_size, err);
    work_free(&work);
    return s;
}

enum status eval_logits(const char *path, const struct gpt *g, const struct dataset *d, size_t begin, size_t end,
                        struct team team, struct error *err)
{
    assert(begin < end && end <= d->count);
    const size_t block = g->config.block_size, T = end - begin < block ? end - begin : block;
    uint32_t *ids = malloc(T * sizeof *ids);
    real *tokens = malloc(T * sizeof *tokens);
    const enum status s = ids && tokens ? write_window(path, g, d, begin, ids, tokens, T, team, err)
                                        : fail(err, STATUS_MEMORY, "a window of %zu symbols was refused memory", T);
    free(ids);
    free(tokens);
    return s;
}
