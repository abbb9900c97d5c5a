#include "lab/pace.h"

#include <assert.h>

#include "base/clock.h"

enum status pace_create(struct pace *p, const struct gpt *model, enum isa isa, struct error *err)
{
    *p = (struct pace){0};
    enum status s = decode_create(&p->decode, model, 1, (struct team){.threads = 1, .isa = isa}, err);
    if (s)
        return s;
    sample_layout(&p->scratch, &p->arena, model->config.vocab_size);
    s = arena_place(&p->arena, err);
    if (s) {
        pace_free(p);
        return s;
    }
    sample_layout(&p->scratch, &p->arena, model->config.vocab_size);
    return STATUS_OK;
}

void pace_free(struct pace *p)
{
    decode_free(&p->decode);
    arena_free(&p->arena);
    *p = (struct pace){0};
}

/* Chooses and appends n symbols after `logits`, as generation does. */
static enum status compose(struct pace *p, const real *logits, size_t n, struct error *err)
{
    const struct sample_options plain = sample_defaults();
    for (size_t i = 0; i < n; i++) {
        uint32_t next;
        const enum status s =
            sample_choose(&next, logits, p->decode.model->config.vocab_size, &plain, 0, (uint32_t)i, &p->scratch, err);
        if (s)
            return s;
        logits = decode_append(&p->decode, &next, 1);
    }
    return STATUS_OK;
}

static const real *begin(struct pace *p)
{
    const uint32_t first = 0;
    decode_reset(&p->decode);
    return decode_append(&p->decode, &first, 1);
}

enum status pace_within(double *per_second, struct pace *p, double seconds, struct error *err)
{
    const size_t room = p->decode.model->config.block_size - 1;
    assert(room > 0);
    const double start = clock_seconds();
    double took = 0;
    for (size_t written = 0; took < seconds || written == 0; *per_second = (double)written / took) {
        const enum status s = compose(p, begin(p), room, err);
        if (s)
            return s;
        written += room;
        took = clock_seconds() - start;
    }
    return STATUS_OK;
}

enum status pace_past(double *per_second, struct pace *p, double seconds, struct error *err)
{
    const size_t full = p->decode.model->config.block_size;
    enum status s = STATUS_OK;
    if (p->decode.length < full)
        s = compose(p, begin(p), full - 1, err);
    if (s)
        return s;
    const double start = clock_seconds();
    double took = 0;
    for (size_t written = 0; took < seconds || written == 0; *per_second = (double)written / took) {
        s = compose(p, p->decode.work.logits, 1, err);
        if (s)
            return s;
        written++;
        took = clock_seconds() - start;
    }
    return STATUS_OK;
}
