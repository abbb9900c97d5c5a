/* AdamW over the parameter table: one gradient norm over all tensors, decay by role (params_decays). */
#ifndef MODEL_OPTIMIZER_H
#define MODEL_OPTIMIZER_H

#include <stddef.h>

#include "base/arena.h"
#include "base/real.h"
#include "base/team.h"
#include "model/params.h"

/* What the optimizer keeps. Gradients are one contiguous block, clipped by one norm. */
struct optimizer {
    real *grads;      /* (table.size) */
    real *m, *v;      /* (table.size): AdamW's first and second moments */
    double *partials; /* of the norm */
};

/* Takes the memory from an arena (measured, then placed). `size` is the table's. */
void optimizer_layout(struct optimizer *o, struct arena *a, size_t size);

void optimizer_zero_grads(struct optimizer *o, size_t size);

/* The length of the gradient, the same on any number of threads; not finite when a gradient is not. */
double optimizer_grad_norm(const struct optimizer *o, size_t size, struct team team);

struct optimizer_step {
    double lr, beta1, beta2, weight_decay;
    double grad_norm; /* as optimizer_grad_norm gave it */
    double grad_clip; /* the gradient is scaled to this norm when it is longer (Pascanu et al. 2012,
                         arXiv:1211.5063, as PyTorch's clip_grad_norm_); 0 is off */
    uint64_t number;  /* 1 for the first update */
};

/* One update of params (table.size). */
void optimizer_update(const struct optimizer *o, real *params, const struct params_table *table,
                      const struct optimizer_step *step, struct team team);

#endif
