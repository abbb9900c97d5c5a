#include "lab/drill.h"

#include <math.h>

#include "model/optimizer.h"
#include "train/gpt_learner.h"

static enum status run(struct drill *d, uint32_t steps, struct gpt_learner *l, struct optimizer *o, struct error *err)
{
    const size_t size = d->g->table.size;
    const struct learner learner = gpt_learner_interface(l);
    for (uint32_t step = 0; step < steps; step++) {
        if (d->renew)
            d->renew(d->context, step);
        optimizer_zero_grads(o, size);
        d->loss = learner.loss_and_gradient(learner.self, step, o->grads);
        const struct optimizer_step s = {.lr = d->lr,
                                         .beta1 = 0.9,
                                         .beta2 = 0.99,
                                         .grad_norm = optimizer_grad_norm(o, size, d->w->team),
                                         .grad_clip = 1,
                                         .number = step + 1};
        if (!isfinite(d->loss) || !isfinite(s.grad_norm))
            return fail(err, STATUS_NONFINITE, "step %u: the loss or its gradient is not finite", step + 1);
        optimizer_update(o, d->g->params, &d->g->table, &s, d->w->team);
    }
    return STATUS_OK;
}

enum status drill_run(struct drill *d, uint32_t steps, struct error *err)
{
    const size_t size = d->g->table.size;
    struct arena arena = {0};
    struct optimizer o;
    optimizer_layout(&o, &arena, size);
    enum status s = arena_place(&arena, err);
    if (s)
        return s;
    optimizer_layout(&o, &arena, size); /* moments begin at 0: a placed arena is blank */
    struct gpt_learner l = {.model = d->g, .work = d->w, .data = d->data, .grad_accum = 1, .seed = d->seed};
    s = gpt_learner_create(&l, err);
    if (!s) {
        s = run(d, steps, &l, &o, err);
        gpt_learner_free(&l);
    }
    arena_free(&arena);
    return s;
}
