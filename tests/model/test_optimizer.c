#include "model/optimizer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/tiny.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-14
#else
#define NEAR 1e-6
#endif

struct bench {
    struct tiny t;
    struct optimizer o;
    struct arena arena;
    size_t size;
};

/* A small model, with random gradients of norm 1.5 or so. */
static void make(struct bench *b)
{
    struct error err;
    struct config c = config_make(2, 2, 6, 5, 7);
    c.tied = false;
    *b = (struct bench){.arena = {0}};
    tiny_make(&b->t, &c, 1, 2, 5, 1);
    b->size = b->t.model.table.size;
    optimizer_layout(&b->o, &b->arena, b->size);
    cr_assert_eq(arena_place(&b->arena, &err), STATUS_OK, "%s", err.message);
    optimizer_layout(&b->o, &b->arena, b->size);
    tiny_step(&b->t, &gpt_evaluating, b->o.grads);
}

static void drop(struct bench *b)
{
    arena_free(&b->arena);
    tiny_free(&b->t);
}

static struct optimizer_step step_of(double clip, double norm)
{
    return (struct optimizer_step){.lr = 0.01,
                                   .beta1 = 0.9,
                                   .beta2 = 0.99,
                                   .weight_decay = 0.1,
                                   .grad_norm = norm,
                                   .grad_clip = clip,
                                   .number = 1};
}

Test(optimizer, only_matrices_and_the_head_shrink_under_decay)
{
    struct bench b;
    make(&b);
    const struct params_table *t = &b.t.model.table;
    real *before = malloc(b.size * sizeof *before);
    memcpy(before, b.t.model.params, b.size * sizeof *before);
    optimizer_zero_grads(&b.o, b.size);
    const struct optimizer_step s = step_of(1, 0);
    optimizer_update(&b.o, b.t.model.params, t, &s, support_team(1));
    for (size_t i = 0; i < t->count; i++) {
        const struct params_tensor *p = &t->tensor[i];
        const bool shrinks = p->role == PARAMS_ROLE_MATRIX || p->role == PARAMS_ROLE_HEAD;
        for (size_t k = p->offset; k < p->offset + p->rows * p->cols; k++)
            cr_expect_float_eq((double)b.t.model.params[k], (double)before[k] * (shrinks ? 0.999 : 1), NEAR, "%s",
                               p->name);
    }
    free(before);
    drop(&b);
}

Test(optimizer, the_norm_is_that_of_all_tensors_together_on_any_threads)
{
    struct bench b;
    make(&b);
    double sum = 0;
    for (size_t i = 0; i < b.size; i++)
        sum += (double)b.o.grads[i] * (double)b.o.grads[i];
    const double norm = optimizer_grad_norm(&b.o, b.size, support_team(1));
    cr_expect_float_eq(norm, sqrt(sum), 1e-12 * norm);
    cr_expect_eq(optimizer_grad_norm(&b.o, b.size, support_team(3)), norm);
    b.o.grads[b.size - 1] = (real)NAN;
    cr_expect(isnan(optimizer_grad_norm(&b.o, b.size, support_team(2))));
    drop(&b);
}

/* One update of fresh moments, in plain double: p - lr (decay p + g / (|g| + epsilon)). */
static void expect_first_update(double clip, double scale)
{
    struct bench b;
    make(&b);
    const struct params_table *t = &b.t.model.table;
    real *before = malloc(b.size * sizeof *before);
    memcpy(before, b.t.model.params, b.size * sizeof *before);
    for (size_t i = 0; i < b.size; i++)
        b.o.grads[i] *= (real)1e-7; /* near epsilon, or the size of a gradient would not show in a first step */
    const double norm = optimizer_grad_norm(&b.o, b.size, support_team(1));
    const struct optimizer_step s = step_of(clip * norm, norm);
    optimizer_update(&b.o, b.t.model.params, t, &s, support_team(1));
    const double factor = scale == 1 ? 1 : scale * norm / (norm + 1e-6);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = t->tensor[i].offset; k < t->tensor[i].offset + t->tensor[i].rows * t->tensor[i].cols; k++) {
            const double g = factor * (double)b.o.grads[k], decay = params_decays(&t->tensor[i]) ? 0.1 : 0;
            const double want = (double)before[k] - 0.01 * (decay * (double)before[k] + g / (fabs(g) + 1e-8));
            cr_expect_float_eq((double)b.t.model.params[k], want, 10 * NEAR, "%s", t->tensor[i].name);
            cr_expect_float_eq((double)b.o.m[k], 0.1 * g, NEAR * 1e-7);
        }
    free(before);
    drop(&b);
}

Test(optimizer, a_gradient_longer_than_the_limit_is_scaled_to_it)
{
    expect_first_update(0.5, 0.5);
}

Test(optimizer, a_short_gradient_is_left_alone_and_zero_is_no_limit)
{
    expect_first_update(1e9, 1);
    expect_first_update(0, 1);
}

Test(optimizer, threads_give_the_same_bits)
{
    struct bench a, b;
    make(&a);
    make(&b);
    struct optimizer_step s = step_of(1, optimizer_grad_norm(&a.o, a.size, support_team(1)));
    for (s.number = 1; s.number <= 3; s.number++) {
        optimizer_update(&a.o, a.t.model.params, &a.t.model.table, &s, support_team(1));
        optimizer_update(&b.o, b.t.model.params, &b.t.model.table, &s, support_team(3));
    }
    cr_expect_eq(memcmp(a.t.model.params, b.t.model.params, a.size * sizeof(real)), 0);
    cr_expect_eq(memcmp(a.o.v, b.o.v, a.size * sizeof(real)), 0);
    drop(&b);
    drop(&a);
}
