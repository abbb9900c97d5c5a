#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"

TestSuite(lab_cost, .init = scratch_make, .fini = scratch_remove);

Test(lab_cost, prints_a_table_and_exponents)
{
    struct program p;
    PROGRAM(&p, "lab", "cost", "--max-t", "600", "--head-size", "8", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "1 head of 8, 1 thread\n") && strstr(p.out, "\n    256  ") && strstr(p.out, "\n    512  "),
              "%s", p.out);
    cr_assert_null(strstr(p.out, "\n   1024  "));
    cr_assert(strstr(p.out, "(fitted over the last 2 lengths)\n"), "%s", p.out);
    cr_assert(strstr(p.out, "  tiled      time ") && strstr(p.out, "one training step at length 600 (4 layers"), "%s",
              p.out);
    program_free(&p);
}

Test(lab_cost, json_holds_both_series)
{
    struct program p;
    PROGRAM(&p, "lab", "cost", "--max-t", "512", "--head-size", "8", "--threads", "2", "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    static const char *const names[] = {"reference", "tiled"};
    for (size_t k = 0; k < 2; k++) {
        const json_t *list = json_object_get(o, names[k]), *last = json_array_get(list, 1);
        cr_assert_eq(json_array_size(list), 2);
        cr_assert_eq(json_integer_value(json_object_get(last, "T")), 512);
        cr_assert(json_real_value(json_object_get(last, "seconds")) > 0);
        cr_assert(json_integer_value(json_object_get(last, "peak_bytes")) > 100000);
        cr_assert(
            json_is_number(json_object_get(json_object_get(json_object_get(o, "exponents"), names[k]), "memory")));
    }
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(o, "step"), "T")), 512);
    json_decref(o);
    program_free(&p);
}

Test(lab_cost, one_length_has_no_exponent)
{
    struct program p;
    PROGRAM(&p, "lab", "cost", "--max-t", "256", "--head-size", "4", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "\n  tiled      no telling from 1 length\n") && !strstr(p.out, "nan"), "%s", p.out);
    program_free(&p);
}

Test(lab_cost, refuses_lengths_that_leave_nothing_to_measure)
{
    struct program p;
    PROGRAM(&p, "lab", "cost", "--max-t", "255");
    program_expect_refused(&p, 2, "256");
    program_free(&p);
}

Test(lab_cost, draws_what_it_measured)
{
    struct program p;
    const char *path = scratch_path("cost.svg");
    PROGRAM(&p, "lab", "cost", "--max-t", "512", "--head-size", "4", "--threads", "1", "--svg", path);
    cr_assert_eq(p.status, 0, "%s", p.err);
    char *svg = scratch_read(path, NULL);
    cr_assert(strncmp(svg, "<svg", 4) == 0 && strstr(svg, "tiled, seconds") && strstr(svg, ">512<"), "%.300s", svg);
    free(svg);
    program_free(&p);
}
