#include "report/thin.h"

#include <criterion/criterion.h>
#include <math.h>

/* The most and the least of what is kept of one series; every kept point is y(x) itself, and x ascends. */
static void expect_true_points(const struct thin *t, size_t series, double (*f)(double x), double *low, double *high)
{
    double before = -1;
    *low = (double)INFINITY;
    *high = -(double)INFINITY;
    for (size_t b = 0; b < t->bins; b++) {
        double x[2], y[2];
        const size_t n = thin_points(x, y, t, b, series);
        for (size_t k = 0; k < n; k++) {
            cr_assert_gt(x[k], before);
            cr_assert(x[k] >= t->first[b] && x[k] <= t->end[b]);
            cr_assert_eq(y[k], f(x[k]), "at %g", x[k]);
            before = x[k];
            *low = fmin(*low, y[k]);
            *high = fmax(*high, y[k]);
        }
    }
}

static double wave(double x)
{
    return x == 7777 ? 50 : x == 12344 ? -50 : sin(x);
}

Test(thin, a_spike_among_a_hundred_thousand_points_stays_where_it_was)
{
    struct thin t;
    double low, high;
    cr_assert(thin_make(&t, 1, 100));
    for (double x = 0; x < 100000; x++) {
        const double y = wave(x);
        thin_add(&t, x, &y);
    }
    cr_assert(t.bins > 50 && t.bins <= 100, "%zu", t.bins);
    expect_true_points(&t, 0, wave, &low, &high);
    cr_assert(low == -50 && high == 50);
    cr_assert(t.first[0] == 0 && t.end[t.bins - 1] == 99999);
    thin_free(&t);
}

static double line(double x)
{
    return 3 - x;
}

Test(thin, nothing_is_lost_while_there_is_room)
{
    struct thin t;
    double low, high;
    cr_assert(thin_make(&t, 2, 8));
    for (double x = 0; x < 8; x++) {
        const double y[2] = {x, line(x)};
        thin_add(&t, x, y);
    }
    cr_assert(t.bins == 8 && t.width == 1);
    expect_true_points(&t, 1, line, &low, &high);
    cr_assert(low == -4 && high == 3);
    const double more[2] = {8, line(8)};
    thin_add(&t, 8, more);
    cr_assert(t.bins == 5 && t.width == 2 && t.last == 1);
    expect_true_points(&t, 1, line, &low, &high);
    cr_assert(low == -5 && high == 3);
    thin_free(&t);
}

Test(thin, what_is_not_finite_is_a_gap_and_hides_no_number)
{
    struct thin t;
    const double none = (double)NAN, y[] = {none, none, 1, none, none, 4, (double)INFINITY, none, 2};
    cr_assert(thin_make(&t, 1, 8));
    for (size_t i = 0; i < sizeof y / sizeof *y; i++)
        thin_add(&t, (double)i, &y[i]);
    double x[2], v[2];
    cr_assert_eq(thin_points(x, v, &t, 0, 0), 1);
    cr_assert(x[0] == 0 && isnan(v[0]), "a gap at its bin's beginning");
    cr_assert_eq(thin_points(x, v, &t, 1, 0), 1);
    cr_assert(x[0] == 2 && v[0] == 1);
    cr_assert_eq(thin_points(x, v, &t, 2, 0), 1);
    cr_assert(x[0] == 5 && v[0] == 4);
    cr_assert_eq(thin_points(x, v, &t, 3, 0), 1);
    cr_assert(isnan(v[0]));
    cr_assert_eq(thin_points(x, v, &t, 4, 0), 1);
    cr_assert(x[0] == 8 && v[0] == 2);
    thin_free(&t);
}
