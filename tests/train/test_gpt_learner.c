#include "train/gpt_learner.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/leak.h"
#include "support/tiny.h"

#define SYMBOLS 60
#define TRAIN 47
#define T_ 6
#define V 60

/* Symbol i has id i, so that a window says where it was read. */
static uint8_t ids[SYMBOLS];
static struct dataset data = {.ids = ids, .width = 1, .count = SYMBOLS, .train = TRAIN};

struct pupil {
    struct tiny tiny;
    struct gpt_learner learner;
    struct learner as_seen;
    real *grads;
};

static void make(struct pupil *p, size_t B, size_t grad_accum, double dropout, int threads)
{
    struct error err;
    for (size_t i = 0; i < SYMBOLS; i++)
        ids[i] = (uint8_t)i;
    struct config c = config_make(2, 2, 8, T_, V);
    c.dropout = dropout;
    tiny_make(&p->tiny, &c, 1, B, T_, threads);
    p->learner = (struct gpt_learner){.model = &p->tiny.model,
                                      .work = &p->tiny.work,
                                      .data = &data,
                                      .grad_accum = grad_accum,
                                      .eval_windows = 3,
                                      .seed = 5};
    cr_assert_eq(gpt_learner_create(&p->learner, &err), STATUS_OK, "%s", err.message);
    p->as_seen = gpt_learner_interface(&p->learner);
    p->grads = calloc(p->tiny.model.table.size, sizeof *p->grads);
    cr_assert_not_null(p->grads);
}

static double step_of(struct pupil *p, size_t step)
{
    memset(p->grads, 0, p->tiny.model.table.size * sizeof *p->grads);
    return p->as_seen.loss_and_gradient(p->as_seen.self, step, p->grads);
}

static void drop(struct pupil *p)
{
    free(p->grads);
    gpt_learner_free(&p->learner);
    tiny_free(&p->tiny);
}

static void one_batch_equals_many(double dropout, int threads)
{
    struct pupil whole, parts;
    make(&whole, 12, 1, dropout, threads);
    make(&parts, 4, 3, dropout, threads);
    const size_t n = whole.tiny.model.table.size;
    for (size_t step = 0; step < 3; step++) {
        const double a = step_of(&whole, step), b = step_of(&parts, step);
        cr_assert_float_eq(a, b, 1e-6 * a);
        double largest = 0;
        for (size_t i = 0; i < n; i++)
            largest = fmax(largest, fabs((double)whole.grads[i]));
        cr_assert_gt(largest, 1e-3);
        cr_assert_lt(tiny_distance(whole.grads, parts.grads, n), 1e-5 * largest);
    }
    drop(&whole);
    drop(&parts);
}

Test(gpt_learner, a_batch_of_12_is_3_micro_batches_of_4)
{
    one_batch_equals_many(0, 1);
    one_batch_equals_many(0, 2);
}

Test(gpt_learner, so_it_is_with_dropout)
{
    one_batch_equals_many(0.3, 1);
}

Test(gpt_learner, row_r_of_a_step_is_the_same_window_however_it_is_divided)
{
    struct pupil whole;
    make(&whole, 12, 1, 0, 1);
    step_of(&whole, 7);
    for (size_t parts = 1; parts <= 3; parts++) { /* after `parts` micro-batches the last one is still there */
        struct pupil p;
        make(&p, 4, parts, 0, 1);
        step_of(&p, 7);
        const size_t at = (parts - 1) * 4 * T_;
        cr_assert_arr_eq(p.learner.tokens, whole.learner.tokens + at, 4 * T_ * sizeof(uint32_t));
        cr_assert_arr_eq(p.learner.targets, whole.learner.targets + at, 4 * T_ * sizeof(uint32_t));
        drop(&p);
    }
    drop(&whole);
}

Test(gpt_learner, windows_are_read_from_all_of_the_train_part_and_nothing_else)
{
    struct pupil p;
    bool seen[SYMBOLS] = {false};
    make(&p, 12, 1, 0, 1);
    for (size_t step = 0; step < 60; step++) {
        step_of(&p, step);
        for (size_t i = 0; i < 12 * T_; i++) {
            cr_assert_eq(p.learner.targets[i], p.learner.tokens[i] + 1, "the target is the next symbol");
            cr_assert_lt(p.learner.targets[i], TRAIN, "symbol %u is for validation", p.learner.targets[i]);
            seen[p.learner.tokens[i]] = seen[p.learner.targets[i]] = true;
        }
    }
    for (size_t i = 0; i < TRAIN; i++)
        cr_assert(seen[i], "symbol %zu was never read", i);
    drop(&p);
}

Test(gpt_learner, steps_draw_anew_and_the_same_step_draws_alike)
{
    struct pupil p;
    uint32_t first[12 * T_];
    make(&p, 12, 1, 0, 1);
    step_of(&p, 0);
    memcpy(first, p.learner.tokens, sizeof first);
    step_of(&p, 1);
    cr_assert(memcmp(first, p.learner.tokens, sizeof first) != 0);
    step_of(&p, 0);
    cr_assert_eq(memcmp(first, p.learner.tokens, sizeof first), 0);
    drop(&p);
}

Test(gpt_learner, looking_leaves_no_trace_on_training)
{
    struct pupil p;
    struct error err;
    struct leak_report report;
    double loss[2], train, val;
    make(&p, 4, 2, 0.4, 1);
    const size_t size = p.tiny.model.table.size;
    real *before = malloc(size * sizeof *before);
    cr_assert_not_null(before);
    loss[0] = step_of(&p, 3);
    memcpy(before, p.grads, size * sizeof *before);
    gpt_learner_attention(&p.learner);
    cr_assert_eq(p.as_seen.evaluate(p.as_seen.self, DATASET_TRAIN, &train, &err), STATUS_OK);
    cr_assert_eq(p.as_seen.evaluate(p.as_seen.self, DATASET_VAL, &val, &err), STATUS_OK);
    cr_assert_eq(leak_check(&report, &p.tiny.model, &p.tiny.work, LEAK_FULL, 5, 3, &err), STATUS_OK);
    loss[1] = step_of(&p, 3);
    cr_assert_eq(loss[0], loss[1]);
    cr_assert_arr_eq(before, p.grads, size * sizeof *before);
    cr_assert(isfinite(train) && isfinite(val) && train != val);
    free(before);
    drop(&p);
}

Test(gpt_learner, a_part_without_a_pair_has_no_loss)
{
    struct pupil p;
    struct error err;
    double loss = 0;
    make(&p, 2, 1, 0, 1);
    for (size_t left = 0; left < 2; left++) {
        data.train = SYMBOLS - left;
        cr_assert_eq(p.as_seen.evaluate(p.as_seen.self, DATASET_VAL, &loss, &err), STATUS_OK);
        cr_assert(isnan(loss));
    }
    data.train = TRAIN;
    drop(&p);
}

Test(gpt_learner, attention_is_summed_up_per_head)
{
    struct pupil p;
    make(&p, 4, 1, 0, 1);
    tiny_sharpen(&p.tiny, 1, 200);
    step_of(&p, 0);
    gpt_learner_attention(&p.learner);
    for (size_t i = 0; i < 4; i++)
        cr_assert(p.learner.entropy[i] >= 0 && p.learner.entropy[i] <= 1);
    for (size_t h = 0; h < 2; h++) {
        cr_assert_lt(p.learner.entropy[2 + h], 0.5 * p.learner.entropy[h], "the sharpened layer is sharper");
        cr_assert_gt(p.learner.max_score[2 + h], p.learner.max_score[h]);
    }
    real *values;
    cr_assert_eq(p.as_seen.parameters(p.as_seen.self, &values), &p.tiny.model.table);
    cr_assert_eq(values, p.tiny.model.params);
    drop(&p);
}
