#include "report/heat.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *draw(const double *weights, size_t T, const char *const *labels)
{
    struct buffer b = {0};
    const struct heat h = {
        .title = "head", .description = "who looks at whom", .weights = weights, .T = T, .labels = labels, .size = 90};
    heat_svg(&b, &h);
    cr_assert_not(b.failed);
    cr_assert(!strstr(b.bytes, "nan") && strstr(b.bytes, "</svg>"));
    return b.bytes;
}

Test(heat, the_future_has_its_own_colour_and_neighbours_share_a_box)
{
    const double causal[] = {1, 0, 0, 0.25, 0.25, 0, 0, 0, 1}, leaky[] = {0, 0.5, 0.5, 1, 0, 0, 0, 0, 1};
    char *a = draw(causal, 3, NULL), *b = draw(leaky, 3, NULL);
    cr_assert(strstr(a, "class=\"past\" fill-opacity=\"1\" d=\"M0 0h1v1h-1zM2 2h1v1h-1z\""), "%s", a);
    cr_assert(strstr(a, "fill-opacity=\"0.5\" d=\"M0 1h2v1h-2z\""), "%s", a);
    cr_assert_null(strstr(a, "class=\"future\""));
    cr_assert(strstr(b, "class=\"future\" fill-opacity=\"0.688\" d=\"M1 0h2v1h-2z\""), "%s", b);
    free(a);
    free(b);
}

Test(heat, labels_are_text_and_what_is_no_weight_is_nothing)
{
    const double weights[] = {(double)NAN, (double)INFINITY, -1, 1};
    const char *const labels[] = {"<", "\u2423"};
    char *a = draw(weights, 2, labels);
    cr_assert(strstr(a, ">&lt;</text>") && strstr(a, ">\u2423</text>"));
    cr_assert(strstr(a, "d=\"M1 1h1v1h-1z\"") && !strstr(a, "class=\"future\""), "%s", a);
    free(a);
}

Test(heat, a_long_map_is_cut_and_says_so)
{
    const size_t T = HEAT_LARGEST + 4;
    double *weights = calloc(T * T, sizeof *weights);
    cr_assert_not_null(weights);
    for (size_t i = 0; i < T; i++)
        weights[i * T + i] = 1;
    char *a = draw(weights, T, NULL);
    cr_assert(strstr(a, "the first 96 of 100 positions"));
    cr_assert(strstr(a, "M95 95h1") && !strstr(a, "M96 96h1"));
    free(a);
    free(weights);
}

/* The number that follows `before`. */
static double number_after(const char *svg, const char *before)
{
    const char *at = strstr(svg, before);
    cr_assert_not_null(at, "%s lacks %s", svg, before);
    return strtod(at + strlen(before), NULL);
}

Test(heat, long_labels_get_room_and_stand_upright_above_their_columns)
{
    const double weights[] = {1, 0, 0.5, 0.5};
    const char *const shorter[] = {"\\n", "a"}, *const longer[] = {"U+2028", "a"};
    char *a = draw(weights, 2, shorter), *b = draw(weights, 2, longer);
    cr_assert_null(strstr(a, "rotate"));
    cr_assert(strstr(b, "rotate(-90)"));
    const double a_left = number_after(a, "<g transform=\"translate("), b_width = number_after(b, "width=\"");
    cr_assert_float_eq(a_left, 34, 1e-9);
    cr_assert_geq(b_width, 90 + 6 * 0.6 * 8, "room for six letters");
    free(a);
    free(b);
}

Test(heat, labels_of_many_positions_are_no_higher_than_a_row)
{
    enum { T = 30 };
    static double weights[T * T];
    static const char *labels[T];
    for (size_t i = 0; i < T; i++) {
        weights[i * T + i] = 1;
        labels[i] = "x";
    }
    char *few = draw(weights, 2, labels), *many = draw(weights, T, labels);
    cr_assert_eq(number_after(few, "font-size:"), 8);
    cr_assert_lt(number_after(many, "font-size:"), 90.0 / T);
    free(few);
    free(many);
}
