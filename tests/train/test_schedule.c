#include "train/schedule.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const double PEAK = 3e-3;

/* Every rate of one schedule: finite, above 0, up to the peak, down to the floor, without a jump. */
static void walk(size_t steps, size_t warmup, double min_lr)
{
    struct error err;
    const struct schedule s = {.lr = PEAK, .min_lr = min_lr, .warmup = warmup, .steps = steps};
    cr_assert_eq(schedule_check(&s, &err), STATUS_OK, "%s", err.message);
    const double rise = PEAK / (double)(warmup + 1);
    const size_t decay = steps > warmup + 1 ? steps - 1 - warmup : 1;
    const double fall = (PEAK - min_lr) * sin(1.57079632679489662 / (double)decay); /* the cosine's steepest step */
    double before = 0;
    for (size_t step = 0; step < steps; step++) {
        const double lr = schedule_rate(&s, step);
        cr_assert(isfinite(lr) && lr <= PEAK, "step %zu of %zu, warm-up %zu: %g", step, steps, warmup, lr);
        cr_assert(lr > 0 || (min_lr == 0 && step == steps - 1), "step %zu of %zu, warm-up %zu: %g", step, steps, warmup,
                  lr);
        if (step <= warmup)
            cr_assert(lr > before && lr - before < rise * (1 + 1e-9));
        else
            cr_assert(lr <= before && before - lr < fall * (1 + 1e-9) + 1e-18);
        before = lr;
    }
    if (warmup < steps)
        cr_assert_eq(schedule_rate(&s, warmup), PEAK);
    if (warmup + 1 < steps)
        cr_assert_float_eq(schedule_rate(&s, steps - 1), min_lr, 1e-18);
    cr_assert_eq(schedule_rate(&s, steps), min_lr);
    cr_assert_eq(schedule_rate(&s, (size_t)-1), min_lr);
}

Test(schedule, every_rate_is_finite_above_zero_and_near_the_one_before)
{
    const size_t lengths[] = {1, 2, 3, 7, 20, 101};
    const double floors[] = {0, PEAK / 100, PEAK / 2, PEAK};
    for (size_t i = 0; i < 6; i++)
        for (size_t warmup = 0; warmup <= lengths[i]; warmup++)
            for (size_t f = 0; f < 4; f++)
                walk(lengths[i], warmup, floors[f]);
}

Test(schedule, follows_the_line_and_the_cosine)
{
    const struct schedule s = {.lr = 1, .min_lr = 0.1, .warmup = 4, .steps = 13};
    const double want[] = {0.2, 0.4, 0.6, 0.8, 1};
    for (size_t step = 0; step < 5; step++)
        cr_assert_float_eq(schedule_rate(&s, step), want[step], 1e-15);
    cr_assert_float_eq(schedule_rate(&s, 6), 0.1 + 0.45 * (1 + sqrt(0.5)), 1e-15, "a quarter of the way");
    cr_assert_float_eq(schedule_rate(&s, 8), 0.55, 1e-15, "half-way");
    cr_assert_float_eq(schedule_rate(&s, 12), 0.1, 1e-15);
}

Test(schedule, settings_that_contradict_each_other_are_refused)
{
    const struct {
        struct schedule s;
        const char *says;
    } cases[] = {
        {{0, 0, 0, 10}, "learning rate is 0"},
        {{-1, 0, 0, 10}, "learning rate is -1"},
        {{(double)NAN, 0, 0, 10}, "above 0"},
        {{(double)INFINITY, 0, 0, 10}, "above 0"},
        {{1, -0.1, 0, 10}, "min-lr is -0.1"},
        {{1, (double)NAN, 0, 10}, "min-lr"},
        {{1, 1.5, 0, 10}, "min-lr is 1.5: choose a number from 0 to the learning rate, 1"},
        {{1, 0, 11, 10}, "warmup is 11 steps and the whole run 10"},
        {{1, 0, (size_t)-1, 10}, "warmup"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err;
        cr_assert_eq(schedule_check(&cases[i].s, &err), STATUS_USAGE, "case %zu", i);
        cr_assert(strstr(err.message, cases[i].says), "%s", err.message);
    }
}
