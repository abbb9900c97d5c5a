#include "lab/impossible.h"

#include <math.h>

#include "base/rng.h"
#include "lab/drill.h"

enum { LAYERS = 2, HEADS = 2, CHANNELS = 32, CONTEXT = 16, SYMBOLS = 8, BATCH = 8, LEARN = 250, LOOK = 50 };
enum { TEXT = 40 * CONTEXT };

struct fresh {
    uint32_t ids[TEXT];
    uint64_t seed;
};

static void renew(void *context, uint32_t step)
{
    struct fresh *f = context;
    const struct rng_site site = {.seed = f->seed, .purpose = RNG_CHECK, .step = step, .head = 21};
    for (uint32_t k = 0; k < TEXT; k++)
        f->ids[k] = (uint32_t)rng_below(&site, k, SYMBOLS);
}

static enum status train(struct impossible *r, struct drill *d, struct error *err)
{
    enum status s = drill_run(d, LEARN, err);
    double sum = 0, squares = 0;
    /* On as it was, one step at a time, without an optimizer: what is looked at must not learn the text by heart. */
    d->lr = 0;
    for (uint32_t k = 0; !s && k < LOOK; k++) {
        ((struct fresh *)d->context)->seed++;
        s = drill_run(d, 1, err);
        sum += d->loss;
        squares += d->loss * d->loss;
    }
    const double mean = sum / LOOK;
    *r = (struct impossible){.loss = mean, .possible = log(SYMBOLS)};
    r->error = sqrt(fmax(0, squares / LOOK - mean * mean) / (LOOK - 1));
    r->below = mean < r->possible - 4 * r->error;
    return s;
}

enum status impossible_run(struct impossible *r, const struct catalogue_entry *e, uint64_t seed, enum isa isa,
                           struct error *err)
{
    struct config c = config_make(LAYERS, HEADS, CHANNELS, CONTEXT, SYMBOLS);
    c.dropout = e && e->needs_dropout ? 0.1 : 0;
    if (e && e->needs_window) {
        c.window = CONTEXT / 2;
        c.declared = c.trained = ATTENTION_WINDOW;
    }
    struct gpt g;
    struct work w;
    enum status s = gpt_create(&g, &c, err);
    if (s)
        return s;
    g.attention_tile = CONTEXT / 2; /* several tiles */
    s = work_create(&w, &c, BATCH, CONTEXT, true, (struct team){.threads = 1, .isa = isa}, err);
    if (!s) {
        s = work_keep_weights(&w, &c, err);
        if (s)
            work_free(&w);
    }
    if (!s) {
        struct fresh fresh = {.seed = seed};
        struct dataset data = {.ids = fresh.ids, .width = 4, .count = TEXT, .train = TEXT - TEXT / 10};
        struct fault fault;
        params_init(g.params, &g.table, &g.config, seed);
        if (e)
            catalogue_plant(&fault, &g, &data, e, FAULT_EVERYWHERE, FAULT_EVERYWHERE);
        struct drill d = {.g = &g, .w = &w, .data = &data, .lr = 3e-3, .seed = seed, .renew = renew, .context = &fresh};
        s = train(r, &d, err);
        work_free(&w);
    }
    gpt_free(&g);
    return s;
}
