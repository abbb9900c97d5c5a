#include "diag/ablation.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

#define LENGTH 11
#define WINDOWS 5
#define LAYERS ((size_t)2)
#define HEADS 3
#define C ((size_t)12)
#define HS (C / HEADS)

static void make(struct tiny *t)
{
    struct config c = config_make(LAYERS, HEADS, C, LENGTH, 13);
    tiny_make(t, &c, WINDOWS, 2, LENGTH, 1); /* batches of 2, of which the last has 1 */
}

static enum status measure(struct ablation *a, struct tiny *t, ablation_stop *stop, struct error *err)
{
    const struct ablation_windows w = {t->tokens, t->targets, WINDOWS, LENGTH};
    return ablation_measure(a, &t->model, &t->work, &w, stop, NULL, err);
}

static double window_loss(struct tiny *t, size_t k)
{
    gpt_forward(&t->model, &t->work, t->tokens + k * LENGTH, 1, LENGTH, &gpt_evaluating);
    gpt_loss(&t->model, &t->work, t->targets + k * LENGTH, 1, LENGTH);
    return gpt_mean_loss(&t->work, LENGTH);
}

/* A head's values set to 0 by its columns of W_V and b_V give an output of 0: another way to remove it than its rows of
 * W_O. */
static void silence_values(struct tiny *t, size_t layer, size_t head)
{
    real *qkv = tiny_tensor(t, t->model.params, PARAMS_QKV, layer);
    for (size_t r = 0; r < C; r++)
        memset(qkv + r * 3 * C + 2 * C + head * HS, 0, HS * sizeof *qkv);
    memset(tiny_tensor(t, t->model.params, PARAMS_QKV_BIAS, layer) + 2 * C + head * HS, 0, HS * sizeof *qkv);
}

Test(ablation, is_the_loss_of_a_model_whose_head_gives_nothing)
{
    struct tiny t;
    struct ablation a;
    struct error err;
    make(&t);
    cr_assert_eq(measure(&a, &t, NULL, &err), STATUS_OK, "%s", err.message);
    const size_t bytes = t.model.table.size * sizeof(real);
    real *kept = malloc(bytes);
    cr_assert_not_null(kept);
    memcpy(kept, t.model.params, bytes);
    double whole[WINDOWS], loss = 0;
    for (size_t k = 0; k < WINDOWS; k++)
        loss += (whole[k] = window_loss(&t, k)) / WINDOWS;
    cr_assert_float_eq(a.loss, loss, 1e-6);
    for (size_t h = 0; h < LAYERS * HEADS; h++) {
        silence_values(&t, h / HEADS, h % HEADS);
        double mean = 0, squares = 0, without[WINDOWS];
        for (size_t k = 0; k < WINDOWS; k++)
            mean += (without[k] = window_loss(&t, k)) / WINDOWS;
        for (size_t k = 0; k < WINDOWS; k++)
            squares += pow(without[k] - whole[k] - (mean - loss), 2);
        cr_assert_float_eq(a.head[h].loss, mean, 1e-5, "head %zu", h);
        cr_assert_float_eq(a.head[h].more, mean - loss, 1e-5);
        cr_assert_float_eq(a.head[h].error, sqrt(squares / (WINDOWS - 1) / WINDOWS), 1e-5);
        cr_assert_gt(fabs(a.head[h].more), 1e-4, "every head of this model matters");
        memcpy(t.model.params, kept, bytes);
    }
    free(kept);
    ablation_free(&a);
    tiny_free(&t);
}

static bool stop_at_third(void *context, size_t done, size_t passes)
{
    (void)context;
    cr_assert_eq(passes, LAYERS * HEADS + 1);
    return done == 3;
}

Test(ablation, leaves_the_model_as_it_was_also_when_it_is_stopped)
{
    struct tiny t;
    struct ablation a;
    struct error err;
    make(&t);
    const size_t bytes = t.model.table.size * sizeof(real);
    real *kept = malloc(bytes);
    cr_assert_not_null(kept);
    memcpy(kept, t.model.params, bytes);
    cr_assert_eq(measure(&a, &t, stop_at_third, &err), STATUS_INTERRUPTED);
    cr_assert_null(a.head);
    cr_assert_arr_eq(t.model.params, kept, bytes);
    cr_assert_eq(measure(&a, &t, NULL, &err), STATUS_OK);
    cr_assert_arr_eq(t.model.params, kept, bytes);
    free(kept);
    ablation_free(&a);
    tiny_free(&t);
}

Test(ablation, a_head_that_gives_nothing_is_worth_exactly_nothing)
{
    struct tiny t;
    struct ablation a;
    struct error err;
    make(&t);
    memset(tiny_tensor(&t, t.model.params, PARAMS_PROJ, 1) + 2 * HS * C, 0, HS * C * sizeof(real));
    cr_assert_eq(measure(&a, &t, NULL, &err), STATUS_OK);
    cr_assert(a.head[5].more == 0 && a.head[5].error == 0);
    ablation_free(&a);
    tiny_free(&t);
}

Test(ablation, one_window_has_no_standard_error_and_a_spoiled_model_no_loss)
{
    struct tiny t;
    struct ablation a;
    struct error err;
    make(&t);
    const struct ablation_windows one = {t.tokens, t.targets, 1, LENGTH};
    cr_assert_eq(ablation_measure(&a, &t.model, &t.work, &one, NULL, NULL, &err), STATUS_OK);
    cr_assert(isnan(a.head[0].error) && isfinite(a.head[0].more));
    ablation_free(&a);
    t.model.params[0] = (real)NAN;
    tiny_tensor(&t, t.model.params, PARAMS_FC, 0)[0] = (real)NAN;
    cr_assert_eq(measure(&a, &t, NULL, &err), STATUS_NONFINITE);
    cr_assert_null(a.head);
    tiny_free(&t);
}
