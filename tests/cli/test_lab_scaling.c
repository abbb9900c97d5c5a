#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"

TestSuite(lab_scaling, .init = scratch_make, .fini = scratch_remove);

static void expect_narrow(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 80, "%.90s", line);
}

Test(lab_scaling, prints_both_tables_on_eighty_columns)
{
    struct program p;
    PROGRAM(&p, "lab", "scaling", "--steps", "10", "--threads", "2");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "\n   2    ") && strstr(p.out, "\n 512  5"), "%s", p.out);
    cr_assert(strstr(p.out, "Plain, the variance is d_k") && strstr(p.out, "\n    10  "), "%s", p.out);
    expect_narrow(p.out);
    program_free(&p);
}

Test(lab_scaling, json_holds_every_width_and_both_trainings)
{
    struct program p;
    PROGRAM(&p, "lab", "scaling", "--steps", "10", "--threads", "1", "--seed", "3", "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    const json_t *widths = json_object_get(o, "widths"), *training = json_object_get(o, "training");
    cr_assert_eq(json_array_size(widths), 9);
    for (size_t i = 0; i < 9; i++) {
        const json_t *w = json_array_get(widths, i);
        const double d_k = (double)json_integer_value(json_object_get(w, "d_k"));
        const double plain = json_real_value(json_object_get(json_object_get(w, "plain"), "variance")),
                     scaled = json_real_value(json_object_get(json_object_get(w, "scaled"), "variance"));
        cr_expect_float_eq(plain / d_k, 1, 0.05, "%g: %g", d_k, plain);
        cr_expect_float_eq(scaled, 1, 0.05, "%g: %g", d_k, scaled);
    }
    static const char *const sides[] = {"plain", "scaled"};
    for (size_t k = 0; k < 2; k++) {
        const json_t *list = json_object_get(training, sides[k]), *last = json_array_get(list, 10);
        cr_assert_eq(json_array_size(list), 11);
        cr_assert_eq(json_integer_value(json_object_get(last, "step")), 10);
        cr_assert(json_real_value(json_object_get(last, "val_loss")) > 0);
        cr_assert_eq(json_array_size(json_object_get(last, "entropy")), 2);
    }
    json_decref(o);
    program_free(&p);
}

Test(lab_scaling, draws_the_variance_and_may_leave_out_the_trainings)
{
    struct program p;
    const char *path = scratch_path("scaling.svg");
    PROGRAM(&p, "lab", "scaling", "--steps", "0", "--svg", path);
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_null(strstr(p.out, "trained twice"));
    char *svg = scratch_read(path, NULL);
    cr_assert(strncmp(svg, "<svg", 4) == 0 && strstr(svg, "sqrt(d_k)") && strstr(svg, ">512<"), "%.300s", svg);
    free(svg);
    program_free(&p);
}

Test(lab_scaling, refuses_trainings_too_short_to_be_looked_at)
{
    struct program p;
    PROGRAM(&p, "lab", "scaling", "--steps", "9");
    program_expect_refused(&p, 2, "at least 10");
    program_free(&p);
}
