#include "lab/scaling.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void run(struct scaling *r, size_t trials, uint32_t steps, int threads)
{
    struct error err;
    const struct scaling_options o = {.trials = trials, .steps = steps, .seed = 5, .team = {.threads = threads}};
    cr_assert_eq(scaling_run(r, &o, &err), STATUS_OK, "%s", err.message);
}

Test(scaling, variance_grows_with_the_width_and_not_when_divided)
{
    static struct scaling r;
    run(&r, 100, 0, 2);
    for (size_t i = 0; i < SCALING_WIDTHS; i++) {
        const struct scaling_point *p = &r.point[i];
        const struct scaling_look *plain = &p->look[SCALING_PLAIN], *scaled = &p->look[SCALING_SCALED];
        const double d_k = (double)p->d_k;
        cr_assert_eq(p->d_k, (size_t)2 << i);
        /* (q . k)^2 has variance 2 d^2 + 6 d, and covariance 2 d with the squares of which it shares q or k: so has
         * the mean of a trial's KEYS^2 squares this standard deviation, over the root of 100 trials. */
        const double error = sqrt((4 * d_k + (2 * d_k * d_k + 2 * d_k) / SCALING_KEYS) / SCALING_KEYS / 100);
        cr_expect_float_eq(plain->variance, d_k, 4 * error, "%zu: %g", p->d_k, plain->variance);
        cr_expect_float_eq(plain->variance_error, error, 0.4 * error, "%zu: %g", p->d_k, plain->variance_error);
        cr_expect_float_eq(scaled->variance, 1, 4 * error / d_k, "%zu: %g", p->d_k, scaled->variance);
        cr_expect_float_eq(scaled->variance * d_k, plain->variance, 1e-4 * d_k, "the same draws");
    }
}

Test(scaling, plain_scores_put_all_weight_on_one_key_and_tell_the_others_nothing)
{
    static struct scaling r;
    run(&r, 24, 0, 2);
    for (size_t i = 1; i < SCALING_WIDTHS; i++) {
        const struct scaling_look *plain = &r.point[i].look[SCALING_PLAIN],
                                  *before = &r.point[i - 1].look[SCALING_PLAIN];
        cr_expect(plain->largest > before->largest && plain->entropy < before->entropy);
        const struct scaling_look *scaled = &r.point[i].look[SCALING_SCALED];
        cr_expect(scaled->largest > 0.09 && scaled->largest < 0.12, "%g", scaled->largest);
        cr_expect(scaled->entropy > 0.87 && scaled->entropy < 0.91, "%g", scaled->entropy);
        cr_expect(scaled->others_median > 0.016 && scaled->others_median < 0.02, "%g", scaled->others_median);
        cr_expect(scaled->query_median > 0.016 && scaled->query_median < 0.023, "%g", scaled->query_median);
    }
    const struct scaling_look *widest = &r.point[SCALING_WIDTHS - 1].look[SCALING_PLAIN];
    cr_expect(widest->largest > 0.9 && widest->entropy < 0.06, "%g", widest->largest);
    cr_expect_lt(widest->others_median, 1e-3);
    cr_expect_gt(widest->others_mean, 5 * widest->others_median, "a few rows carry it");
}

/* Scores that hardly differ: every weight is 1 / KEYS, so dS_j = (u_j - mean u) / KEYS, a length of 1 / KEYS but for
 * the mean and the one key left out. At d_k = 2, scaled, scores still differ; the bound is what they may add. */
Test(scaling, the_gradient_is_that_of_a_unit_direction)
{
    static struct scaling r;
    run(&r, 24, 0, 1);
    const struct scaling_look *least = &r.point[0].look[SCALING_SCALED];
    cr_expect(least->others_mean > 1.0 / SCALING_KEYS && least->others_mean < 1.3 / SCALING_KEYS, "%g",
              least->others_mean);
}

Test(scaling, threads_change_nothing_and_the_trainings_begin_alike)
{
    static struct scaling one, two;
    run(&one, 11, 10, 1);
    run(&two, 11, 0, 2);
    cr_assert_eq(memcmp(one.point, two.point, sizeof one.point), 0);
    for (int side = 0; side < SCALING_SIDES; side++) {
        const struct scaling_training *t = &one.training[side];
        cr_assert_eq(t->looks, SCALING_LOOKS);
        for (size_t k = 0; k < t->looks; k++)
            cr_assert(t->step[k] == k && t->val_loss[k] > 1 && t->val_loss[k] < 5);
        cr_assert_lt(t->val_loss[10], t->val_loss[0]);
    }
    const struct scaling_training *plain = &one.training[SCALING_PLAIN], *scaled = &one.training[SCALING_SCALED];
    /* What W_Q and W_K begin with gives scores of 0.25 standard deviations scaled, and of 2.8 plain. */
    cr_assert(scaled->entropy[0][0] > 0.97 && plain->entropy[0][0] < 0.8);
    cr_assert_float_eq(plain->val_loss[0], scaled->val_loss[0], 0.05, "the same first weights");
    cr_assert_eq(two.training[0].looks, 0);
}

static size_t asked;

static bool stop_at_third(void *context, const char *what, size_t done, size_t total)
{
    cr_assert(context == &asked && what && done <= total);
    return ++asked == 3;
}

Test(scaling, stops_when_it_is_told_to)
{
    static struct scaling r;
    struct error err;
    const struct scaling_options o = {
        .trials = 8, .steps = 10, .team = {.threads = 1}, .progress = stop_at_third, .context = &asked};
    cr_assert_eq(scaling_run(&r, &o, &err), STATUS_INTERRUPTED);
    cr_assert_eq(asked, 3);
}
