#include "diag/generation.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/tiny.h"

#define WINDOWS 5 /* no multiple of the rows in a batch */
#define LENGTH 9

static void make(struct tiny *t)
{
    const struct config c = config_make(2, 2, 8, LENGTH, 11);
    tiny_make(t, &c, 3, 2, LENGTH, 1); /* 6 windows' worth of symbols */
}

static struct generation measure(struct tiny *t)
{
    struct generation r;
    struct error err;
    cr_assert_eq(generation_loss(&r, &t->model, &t->work, t->tokens, t->targets, WINDOWS, LENGTH, &err), STATUS_OK,
                 "%s", err.message);
    return r;
}

Test(generation, a_causal_model_loses_nothing_alone)
{
    struct tiny t;
    make(&t);
    const struct generation r = measure(&t);
    cr_assert_float_eq(r.loss, r.parallel, 1e-5, "%.9f alone, %.9f in parallel", r.loss, r.parallel);
    tiny_free(&t);
}

Test(generation, one_head_without_its_mask_shows)
{
    struct tiny t;
    make(&t);
    t.model.rules[3] = ATTENTION_FULL;
    const struct generation r = measure(&t);
    cr_assert_gt(fabs(r.loss - r.parallel), 1e-3, "%.9f alone, %.9f in parallel", r.loss, r.parallel);
    tiny_free(&t);
}

Test(generation, every_target_counts_once_whatever_the_batch)
{
    struct tiny t;
    make(&t);
    t.model.rules[0] = ATTENTION_FULL;
    const struct generation all = measure(&t);
    double alone = 0, parallel = 0;
    struct error err;
    for (size_t n = 0; n < WINDOWS; n++) {
        struct generation one;
        cr_assert_eq(
            generation_loss(&one, &t.model, &t.work, t.tokens + n * LENGTH, t.targets + n * LENGTH, 1, LENGTH, &err),
            STATUS_OK);
        alone += one.loss / WINDOWS;
        parallel += one.parallel / WINDOWS;
    }
    cr_assert_float_eq(all.loss, alone, 1e-5);
    cr_assert_float_eq(all.parallel, parallel, 1e-5);
    tiny_free(&t);
}

Test(generation, a_loss_that_is_not_finite_is_an_error)
{
    struct tiny t;
    struct generation r;
    struct error err;
    make(&t);
    t.model.params[0] = (real)NAN;
    cr_assert_eq(generation_loss(&r, &t.model, &t.work, t.tokens, t.targets, WINDOWS, LENGTH, &err), STATUS_NONFINITE);
    cr_assert(strstr(err.message, "not finite"), "%s", err.message);
    tiny_free(&t);
}
