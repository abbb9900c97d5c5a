#include "report/shades.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char *const labels[] = {"0 a ", "1 b "}, *const marks[] = {"a", "b", "c"}, *const notes[] = {" x", " y"};
static const size_t past[] = {1, 2};

static void expect(const double weights[6], unsigned cell, bool colour, const char *expected)
{
    static const char *const wide[] = {"a ", "b ", "c "};
    struct buffer b = {0};
    const struct shades s = {.weights = weights,
                             .rows = 2,
                             .cols = 3,
                             .past = past,
                             .cell = cell,
                             .margin = 4,
                             .row_label = labels,
                             .col_mark = cell == 2 ? wide : marks,
                             .row_note = notes,
                             .colour = colour};
    shades_print(&b, &s);
    cr_assert_not(b.failed);
    cr_assert_str_eq(b.bytes, expected);
    buffer_free(&b);
}

Test(shades, darker_is_more_and_only_exactly_0_is_blank)
{
    const double w[] = {1, 0, 0, 1e-30, 0.5, 0};
    expect(w, 1, false, "    abc\n0 a \u2588   x\n1 b \u00b7\u2593  y\n");
    expect(w, 2, false, "    a b c \n0 a \u2588\u2588     x\n1 b \u00b7\u00b7\u2593\u2593   y\n");
}

Test(shades, steps_are_of_the_square_root)
{
    const double w[] = {0.0399, 0, 0, 0.15, 0.35, 0}, v[] = {0.041, 0, 0, 0.17, 0.65, 0};
    expect(w, 1, false, "    abc\n0 a \u00b7   x\n1 b \u2591\u2592  y\n");
    expect(v, 1, false, "    abc\n0 a \u2591   x\n1 b \u2592\u2588  y\n");
}

Test(shades, weight_on_the_future_is_an_alarm)
{
    const double w[] = {0.5, 1e-9, 0, 0.5, 0.5, 1};
    expect(w, 1, false, "    abc\n0 a \u2593!  x\n1 b \u2593\u2593! y\n");
    expect(w, 1, true,
           "    abc\n0 a \033[48;5;113m \033[48;5;196m!\033[0m  x\n1 b \033[48;5;113m  \033[48;5;196m!\033[0m y\n");
}

Test(shades, what_is_no_weight_is_blank)
{
    const double w[] = {(double)NAN, -1, (double)INFINITY, 2, 0, 0};
    expect(w, 1, false, "    abc\n0 a     x\n1 b \u2588   y\n");
    expect(w, 1, true, "    abc\n0 a     x\n1 b \033[48;5;226m \033[0m   y\n");
}

Test(shades, the_legend_has_every_step)
{
    struct buffer b = {0};
    shades_legend(&b, false);
    cr_assert_str_eq(b.bytes, "weight: \u00b7 to 0.04, \u2591 to 0.16, \u2592 to 0.36, \u2593 to 0.64, \u2588 "
                              "to 1, blank is exactly 0\n");
    buffer_free(&b);
    shades_legend(&b, true);
    cr_assert(strstr(b.bytes, "0 \033[48;5;53m ") && strstr(b.bytes, "\033[48;5;226m \033[0m 1"), "%s", b.bytes);
    buffer_free(&b);
}
