#include "lab/drill.h"

#include <math.h>

#include "model/optimizer.h"
#include "train/gpt_learner.h"

static enum status take_step(struct drill *d, uint32_t step, const struct learner *learner, struct optimizer *o,
                             struct error *err)
{
    const size_t size = d->g->table.size;
    optimizer_zero_grads(o, size);
    d->loss = learner->loss_and_gradient(learner->self, step, o->grads);
    const struct optimizer_step s = {.lr = d->lr,
                                     .beta1 = 0.9,
                                     .beta2 = 0.99,
                                     .grad_norm = optimizer_grad_norm(o, size, d->w->team),
                                     .grad_clip = 1,
                                     .number = step + 1};
    if (!isfinite(d->loss) || !isfinite(s.grad_norm))
        return fail(err, STATUS_NONFINITE, "step %u: the loss or its gradient is not finite", step + 1);
    optimizer_update(o, d->g->params, &d->g->table, &s, d->w->team);
    return STATUS_OK;
}

static enum status run(struct drill *d, uint32_t steps, const struct learner *learner, struct optimizer *o,
                       struct error *err)
{
    enum status s = d->watch ? d->watch(d->context, 0, err) : STATUS_OK;
    for (uint32_t step = 0; !s && step < steps; step++) {
        if (d->renew)
            d->renew(d->context, step);
        s = take_step(d, step, learner, o, err);
        if (!s && d->watch)
            s = d->watch(d->context, step + 1, err);
    }
    return s;
}

static enum status run_on_text(struct drill *d, uint32_t steps, struct optimizer *o, struct error *err)
{
    struct gpt_learner l = {.model = d->g, .work = d->w, .data = d->data, .grad_accum = 1, .seed = d->seed};
    enum status s = gpt_learner_create(&l, err);
    if (s)
        return s;
    const struct learner learner = gpt_learner_interface(&l);
    s = run(d, steps, &learner, o, err);
    gpt_learner_free(&l);
    return s;
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
    s = d->learner ? run(d, steps, d->learner, &o, err) : run_on_text(d, steps, &o, err);
    arena_free(&arena);
    return s;
}
