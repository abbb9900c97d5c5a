#include "base/timings.h"

#include <criterion/criterion.h>
#include <math.h>

static struct timings of(const double *values, size_t n)
{
    struct timings t;
    struct error err;
    cr_assert_eq(timings_create(&t, n + 1, &err), STATUS_OK);
    for (size_t i = 0; i < n; i++)
        timings_add(&t, values[i]);
    return t;
}

Test(timings, the_median_is_the_middle_one_or_between_the_two)
{
    struct timings odd = of((const double[]){5, 1, 100}, 3), even = of((const double[]){4, 1, 2, 100}, 4);
    cr_assert_eq(timings_quantile(&odd, 0.5), 5);
    cr_assert_eq(timings_quantile(&even, 0.5), 3);
    timings_free(&odd);
    timings_free(&even);
}

Test(timings, quantiles_reach_from_the_least_to_the_most)
{
    struct timings t = of((const double[]){30, 10, 20, 50, 40}, 5);
    cr_assert_eq(timings_quantile(&t, 0), 10);
    cr_assert_eq(timings_quantile(&t, 0.25), 20);
    cr_assert_float_eq(timings_quantile(&t, 0.3), 22, 1e-12);
    cr_assert_eq(timings_quantile(&t, 1), 50);
    timings_add(&t, 0);
    cr_assert_eq(timings_quantile(&t, 0), 0, "a time may still come after a question");
    timings_free(&t);
}

Test(timings, one_time_is_every_quantile_and_none_has_none)
{
    struct timings one = of((const double[]){7}, 1), none = of(NULL, 0);
    cr_assert_eq(timings_quantile(&one, 0), 7);
    cr_assert_eq(timings_quantile(&one, 1), 7);
    cr_assert(isnan(timings_quantile(&none, 0.5)));
    timings_free(&one);
    timings_free(&none);
}
