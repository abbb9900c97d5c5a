#include "model/optimizer.h"

#include <string.h>

#include "kernels/adamw.h"
#include "kernels/norm.h"

#define EPSILON 1e-8 /* AdamW's */

void optimizer_layout(struct optimizer *o, struct arena *a, size_t size)
{
    o->grads = arena_take(a, size, sizeof *o->grads);
    o->m = arena_take(a, size, sizeof *o->m);
    o->v = arena_take(a, size, sizeof *o->v);
    o->partials = arena_take(a, norm_partials(size), sizeof *o->partials);
}

void optimizer_zero_grads(struct optimizer *o, size_t size)
{
    memset(o->grads, 0, size * sizeof *o->grads);
}

struct norm_call {
    const struct optimizer *o;
    size_t size;
};

static void norm_lane(const struct lane *lane, void *context)
{
    const struct norm_call *c = context;
    norm_squares(lane, c->o->partials, c->o->grads, c->size);
}

double optimizer_grad_norm(const struct optimizer *o, size_t size, struct team team)
{
    struct norm_call c = {o, size};
    team_run(team, norm_lane, &c);
    return norm_finish(o->partials, size);
}

struct update_call {
    const struct optimizer *o;
    real *params;
    const struct params_table *table;
    struct adamw adamw;
};

static void update_lane(const struct lane *lane, void *context)
{
    const struct update_call *c = context;
    for (size_t i = 0; i < c->table->count; i++) {
        const struct params_tensor *p = &c->table->tensor[i];
        if (!p->present)
            continue;
        struct adamw adamw = c->adamw;
        if (!params_decays(p))
            adamw.decay = 0;
        adamw_update(lane, c->params + p->offset, c->o->m + p->offset, c->o->v + p->offset, c->o->grads + p->offset,
                     &adamw, p->rows * p->cols);
    }
}

void optimizer_update(const struct optimizer *o, real *params, const struct params_table *table,
                      const struct optimizer_step *step, struct team team)
{
    const double clip = step->grad_clip > 0 ? step->grad_clip / (step->grad_norm + 1e-6) : 1;
    struct update_call c = {o,
                            params,
                            table,
                            {.lr = step->lr,
                             .beta1 = step->beta1,
                             .beta2 = step->beta2,
                             .epsilon = EPSILON,
                             .decay = step->weight_decay,
                             .grad_scale = clip < 1 ? clip : 1,
                             .step = step->number}};
    team_run(team, update_lane, &c);
}
