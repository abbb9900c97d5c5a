#include "report/plot.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 5
static const double x[N] = {0, 10, 20, 30, 40};

static struct plot plot_of(const struct plot_series *series, size_t n)
{
    return (struct plot){.title = "losses",
                         .description = "two of them",
                         .x_label = "steps",
                         .y_label = "nats",
                         .x = x,
                         .n = N,
                         .series = series,
                         .n_series = n,
                         .width = 400,
                         .height = 300};
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

/* The path of the series with this colour that is drawn last: the legend's comes first. */
static const char *path_of(const char *svg, const char *colour)
{
    const char *at = NULL;
    for (const char *next = svg; (next = strstr(next, colour)); next++)
        at = next;
    cr_assert_not_null(at);
    at = strstr(at, " d=\"");
    cr_assert_not_null(at);
    return at + 4;
}

Test(plot, a_larger_value_stands_higher_and_a_later_one_further_right)
{
    const double y[N] = {1, 2, 3, 4, 5};
    const struct plot_series s = {.label = "up", .y = y, .look = 3};
    struct plot p = plot_of(&s, 1);
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        struct buffer b = {0};
        p.log_y = logarithmic;
        plot_svg(&b, &p);
        double px, py, qx, qy;
        cr_assert_eq(sscanf(path_of(b.bytes, "var(--s3)"), "M%lf %lfh0L%lf %lf", &px, &py, &qx, &qy), 4);
        cr_assert(qx > px && qy < py && px > 0 && qx < 400 && qy > 0 && py < 300);
        cr_assert(strstr(b.bytes, ">up</text>") && strstr(b.bytes, ">steps</text>") && strstr(b.bytes, ">nats</text>"));
        buffer_free(&b);
    }
}

Test(plot, gaps_are_left_where_nothing_can_be_shown)
{
    const double y[N] = {1, (double)NAN, 3, (double)INFINITY, -1};
    const struct plot_series s = {.label = "holes", .y = y};
    struct plot p = plot_of(&s, 1);
    const size_t pieces[] = {3, 2}; /* the last value is none on a log axis */
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        struct buffer b = {0};
        p.log_y = logarithmic;
        plot_svg(&b, &p);
        cr_assert(!strstr(b.bytes, "nan") && !strstr(b.bytes, "inf"), "%s", b.bytes);
        const char *path = path_of(b.bytes, "var(--s0)");
        char *whole = strndup(path, strcspn(path, "\""));
        cr_assert_eq(count(whole, "M"), pieces[logarithmic], "%s", whole);
        cr_assert_eq(count(whole, "L"), 0);
        free(whole);
        buffer_free(&b);
    }
}

Test(plot, nothing_at_all_and_a_single_value_are_drawn_too)
{
    const double none[N] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN}, same[N] = {0};
    const double *all[] = {none, same};
    for (size_t i = 0; i < 2; i++)
        for (int logarithmic = 0; logarithmic < 2; logarithmic++)
            for (size_t n = 1; n <= N; n += N - 1) {
                struct buffer b = {0};
                const struct plot_series s = {.label = "flat", .y = all[i]};
                struct plot p = plot_of(&s, 1);
                p.n = n;
                p.log_y = logarithmic;
                plot_svg(&b, &p);
                cr_assert(!strstr(b.bytes, "nan") && !strstr(b.bytes, "inf"), "%s", b.bytes);
                cr_assert(strstr(b.bytes, "</svg>"));
                buffer_free(&b);
            }
}

Test(plot, series_differ_in_more_than_colour_and_levels_are_named)
{
    const double y[N] = {1, 2, 3, 4, 5};
    const struct plot_series s[] = {{.label = "a", .y = y}, {.label = "b", .y = y, .dashes = 1}, {.y = y, .dashes = 2}};
    const struct plot_level level = {"ln 65 <here>", 4.174};
    struct plot p = plot_of(s, 3);
    struct buffer b = {0};
    p.levels = &level;
    p.n_levels = 1;
    plot_svg(&b, &p);
    cr_assert_eq(count(b.bytes, "stroke-dasharray=\"7 4\""), 2, "in the legend and in the chart");
    cr_assert_eq(count(b.bytes, "stroke-dasharray=\"2 4\""), 1, "no label, no legend");
    cr_assert(strstr(b.bytes, ">ln 65 &lt;here&gt;</text>"));
    buffer_free(&b);
}

Test(plot, ticks_are_round_numbers)
{
    const double y[N] = {0, 8.5, 1, 2, 3}, wide[N] = {0.03, 0.3, 3, 5, 8};
    const struct plot_series s = {.label = "a", .y = y}, t = {.label = "a", .y = wide};
    struct plot p = plot_of(&s, 1), q = plot_of(&t, 1);
    struct buffer b = {0}, c = {0};
    q.log_y = true;
    plot_svg(&b, &p);
    plot_svg(&c, &q);
    const char *const linear[] = {">0<", ">2<", ">4<", ">6<", ">8<", ">10<"}, *const log[] = {">0.05<", ">0.1<",
                                                                                              ">0.5<", ">1<", ">5<"};
    for (size_t i = 0; i < 6; i++)
        cr_assert(strstr(b.bytes, linear[i]), "%s", linear[i]);
    for (size_t i = 0; i < 5; i++)
        cr_assert(strstr(c.bytes, log[i]), "%s", log[i]);
    buffer_free(&b);
    buffer_free(&c);
}

Test(plot, a_logarithmic_x_axis_has_equal_steps_for_doublings_and_a_tick_at_each)
{
    static const double doubled[] = {256, 512, 1024}, flat[] = {1, 1, 1};
    const struct plot_series series = {.y = flat, .look = 3};
    struct plot p = plot_of(&series, 1);
    p.x = doubled;
    p.n = 3;
    p.log_x = true;
    struct buffer b = {0};
    plot_svg(&b, &p);
    double at[3], y;
    cr_assert_eq(sscanf(path_of(b.bytes, "--s3") + 1, "%lf %lfh0L%lf %lfL%lf", &at[0], &y, &at[1], &y, &at[2]), 5);
    cr_assert_float_eq(at[1] - at[0], at[2] - at[1], 0.2);
    cr_assert(strstr(b.bytes, ">256<") && strstr(b.bytes, ">512<") && strstr(b.bytes, ">1024<"));
    buffer_free(&b);
}

Test(plot, the_number_of_the_last_tick_ends_with_the_picture)
{
    const double steps[N] = {0, 500, 1000, 1500, 20000}, y[N] = {1, 2, 3, 4, 5};
    const struct plot_series s = {.label = "up", .y = y};
    struct plot p = plot_of(&s, 1);
    struct buffer b = {0};
    p.x = steps;
    plot_svg(&b, &p);
    cr_assert(strstr(b.bytes, "<text x=\"399.0\" y=\"278.0\" class=\"end faint\">20000</text>"), "%s", b.bytes);
    cr_assert(strstr(b.bytes, "class=\"mid faint\">10000</text>"));
    buffer_free(&b);
}
