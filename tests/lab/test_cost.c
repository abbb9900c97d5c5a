#include "lab/cost.h"

#include <criterion/criterion.h>
#include <math.h>

Test(cost, exponents_are_the_slopes_of_powers)
{
    const double x[] = {1, 2, 4, 8, 16, 32}, square[] = {100, 100, 3 * 16, 3 * 64, 3 * 256, 3 * 1024},
                 flat[] = {5, 5, 5, 5, 5, 5};
    cr_expect_float_eq(cost_exponent(x, square, 6), 2, 1e-12, "the short lengths do not count");
    cr_expect_float_eq(cost_exponent(x, flat, 6), 0, 1e-12);
    cr_expect_float_eq(cost_exponent(x + 2, square + 2, 2), 2, 1e-12);
    cr_expect(isnan(cost_exponent(x, square, 1)) && isnan(cost_exponent(x, square, 0)));
}

static size_t asked;

static bool stop_at_third(void *context, const char *what, size_t T)
{
    cr_assert(context == &asked && what && T >= COST_FIRST);
    return ++asked == 3;
}

Test(cost, both_kinds_are_measured_and_a_step_is_trained)
{
    struct error err;
    struct cost c;
    const struct cost_options o = {.most = 1024, .head_size = 16, .step = 300, .team = {.threads = 1}};
    cr_assert_eq(cost_run(&c, &o, &err), STATUS_OK, "%s", err.message);
    cr_assert(c.n[COST_REFERENCE] == 3 && c.n[COST_TILED] == 3 && c.heads == 1 && c.refused_T == 0);
    for (int kind = 0; kind < COST_KINDS; kind++)
        for (size_t k = 0; k < 3; k++) {
            const struct cost_point *p = &c.point[kind][k];
            cr_assert(p->T == (size_t)COST_FIRST << k && p->seconds > 0);
            cr_assert(p->resident == 0 || p->resident + 500000 > p->bytes, "what is counted is really used");
        }
    const struct cost_point *ref = c.point[COST_REFERENCE], *tiled = c.point[COST_TILED];
    cr_assert(ref[2].bytes > 3 * 1024 * 1024 * sizeof(float), "weights and two scores of every pair");
    cr_assert((double)ref[2].bytes > 3 * (double)ref[1].bytes);
    cr_assert((double)tiled[2].bytes < 2.1 * (double)tiled[1].bytes);
    cr_assert(c.memory_exponent[COST_REFERENCE] > 1.7 && c.memory_exponent[COST_TILED] < 1.1);
    cr_assert(isfinite(c.time_exponent[COST_TILED]) && isfinite(c.time_exponent[COST_REFERENCE]));
    cr_assert(c.step.T == 300 && c.step.seconds > 0 && c.step.bytes > 4 * c.step.parameters * sizeof(float));
}

Test(cost, stops_when_it_is_told_to)
{
    struct error err;
    struct cost c;
    const struct cost_options o = {
        .most = 1024, .head_size = 4, .team = {.threads = 1}, .progress = stop_at_third, .context = &asked};
    cr_assert_eq(cost_run(&c, &o, &err), STATUS_INTERRUPTED);
    cr_assert(c.n[COST_REFERENCE] == 1 && c.n[COST_TILED] == 1);
}
