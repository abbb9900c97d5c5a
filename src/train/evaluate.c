#include "train/evaluate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* The windows of a text of `targets` targets: window k reads from k * stride on. */
struct plan {
    size_t targets, T, stride;
    size_t windows; /* all of them */
    size_t chosen;  /* how many are run */
};

/* Offset of a window, its length, and the first of its targets that is its own: those before are an earlier window's,
 * whether that one is in the sample or not. */
struct window {
    size_t start, length, first;
};

static struct plan make_plan(size_t symbols, const struct evaluate_options *o)
{
    struct plan p = {.T = o->T, .stride = o->stride ? o->stride : o->T};
    assert(p.stride <= p.T);
    p.targets = symbols > 0 ? symbols - 1 : 0;
    if (p.targets > 0)
        p.windows = p.targets <= p.T ? 1 : 1 + (p.targets - p.T + p.stride - 1) / p.stride;
    p.chosen = p.windows;
    if (o->max_windows && o->max_windows < p.windows)
        p.chosen = o->max_windows;
    return p;
}

static struct window get_window(const struct plan *p, size_t k)
{
    /* A sample takes whole windows only; the last one may be short. */
    if (p->chosen < p->windows)
        k = k * (p->windows - 1) / p->chosen;
    struct window w = {.start = k * p->stride};
    w.length = p->targets - w.start < p->T ? p->targets - w.start : p->T;
    w.first = k == 0 ? 0 : p->T - p->stride;
    return w;
}

struct batch {
    uint32_t *tokens, *targets;
};

static enum status run(struct evaluation *e, const struct gpt *g, struct work *w, const struct dataset *d, size_t begin,
                       const struct plan *p, const struct evaluate_options *o, const struct batch *batch,
                       struct error *err)
{
    double sum = 0;
    for (size_t k = 0; k < p->chosen;) {
        if (o->stop && o->stop(o->context, k, p->chosen))
            return fail(err, STATUS_INTERRUPTED, "interrupted");
        /* as many windows of one length as there are rows */
        const size_t T = get_window(p, k).length;
        size_t B = 0;
        while (B < w->B && k + B < p->chosen && get_window(p, k + B).length == T) {
            dataset_window(d, batch->tokens + B * T, batch->targets + B * T, begin + get_window(p, k + B).start, T);
            B++;
        }
        gpt_forward(g, w, batch->tokens, B, T, &gpt_quiet);
        gpt_loss(g, w, batch->targets, B, T);
        for (size_t b = 0; b < B; b++) {
            const struct window at = get_window(p, k + b);
            for (size_t t = at.first; t < T; t++) {
                const double loss = (double)w->loss[b * T + t];
                if (!isfinite(loss))
                    return fail(err, STATUS_NONFINITE,
                                "the loss of symbol %zu of the text is not finite: the weights are spoiled, use an "
                                "earlier checkpoint",
                                begin + at.start + t + 1);
                sum += loss;
                e->tokens++;
                if (e->position_loss) {
                    e->position_loss[t] += loss;
                    e->position_count[t]++;
                }
            }
        }
        k += B;
    }
    if (e->tokens)
        e->loss = sum / (double)e->tokens;
    return STATUS_OK;
}

enum status evaluate(struct evaluation *e, const struct gpt *g, struct work *w, const struct dataset *d, size_t begin,
                     size_t end, const struct evaluate_options *o, struct error *err)
{
    assert(o->T > 0 && o->T <= w->T && begin <= end && end <= d->count);
    e->loss = (double)NAN;
    e->tokens = 0;
    const struct plan p = make_plan(end - begin, o);
    struct batch batch = {malloc(w->B * o->T * sizeof(uint32_t)), malloc(w->B * o->T * sizeof(uint32_t))};
    const enum status s = batch.tokens && batch.targets
                              ? run(e, g, w, d, begin, &p, o, &batch, err)
                              : fail(err, STATUS_MEMORY, "memory for a batch of %zu windows was refused", w->B);
    free(batch.tokens);
    free(batch.targets);
    return s;
}
