#include "lab/drill.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

enum { T = 8, COUNT = 200 };
static uint8_t ids[COUNT];
static size_t renewed;

static void renew(void *context, uint32_t step)
{
    cr_assert_eq(step, renewed);
    cr_assert_null(context);
    renewed++;
}

static double train(real *params, uint32_t steps, bool calls)
{
    const struct config c = config_make(1, 2, 8, T, 4);
    struct tiny t;
    tiny_make(&t, &c, 1, 4, T, 1);
    for (size_t k = 0; k < COUNT; k++)
        ids[k] = k % 4;
    const struct dataset data = {.ids = ids, .width = 1, .count = COUNT, .train = COUNT - 20};
    struct drill d = {.g = &t.model, .w = &t.work, .data = &data, .lr = 1e-2, .seed = 3, .renew = calls ? renew : NULL};
    struct error err;
    cr_assert_eq(drill_run(&d, steps, &err), STATUS_OK, "%s", err.message);
    if (params)
        memcpy(params, t.model.params, t.model.table.size * sizeof *params);
    tiny_free(&t);
    return d.loss;
}

Test(drill, learns_a_text_that_can_be_learnt)
{
    cr_assert_lt(train(NULL, 80, true), 0.3 * train(NULL, 1, false));
    cr_assert_eq(renewed, 80);
}

Test(drill, weights_that_are_not_finite_stop_it)
{
    const struct config c = config_make(1, 1, 4, T, 4);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, T, 1);
    t.model.params[0] = (real)NAN;
    const struct dataset data = {.ids = ids, .width = 1, .count = COUNT, .train = COUNT};
    struct drill d = {.g = &t.model, .w = &t.work, .data = &data, .lr = 1e-2};
    struct error err;
    cr_assert_eq(drill_run(&d, 3, &err), STATUS_NONFINITE);
    tiny_free(&t);
}

static enum status stop_after_five(void *context, uint32_t done, struct error *err)
{
    uint32_t *looks = context;
    cr_assert_eq(done, (*looks)++, "before the first step, and after each");
    return done == 5 ? fail(err, STATUS_INTERRUPTED, "enough") : STATUS_OK;
}

/* A loss of 7, whose gradient is 1 in every parameter. */
static double climb(void *self, size_t step, real *grads)
{
    struct tiny *t = self;
    cr_assert_lt(step, 5);
    for (size_t i = 0; i < t->model.table.size; i++)
        grads[i] += 1;
    return 7;
}

Test(drill, what_is_learnt_may_be_given_and_watched)
{
    const struct config c = config_make(1, 1, 4, T, 4);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, T, 1);
    const real first = t.model.params[0];
    uint32_t looks = 0;
    const struct learner learner = {.self = &t, .loss_and_gradient = climb};
    struct drill d = {
        .g = &t.model, .w = &t.work, .learner = &learner, .lr = 1e-2, .watch = stop_after_five, .context = &looks};
    struct error err;
    cr_assert_eq(drill_run(&d, 100, &err), STATUS_INTERRUPTED);
    cr_assert(looks == 6 && d.loss == 7);
    cr_assert_float_eq((double)(first - t.model.params[0]), 5e-2, 1e-4, "AdamW steps by lr where gradients are alike");
    tiny_free(&t);
}
