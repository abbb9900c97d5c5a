#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "support/program.h"

Test(cmd_lab, prints_what_was_found_and_placed)
{
    struct program p;
    PROGRAM(&p, "lab", "detectors", "--fault", "one-ahead", "--trials", "2", "--configurations", "2");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "one-ahead              100 %   100 %"), "%s", p.out);
    cr_assert(strstr(p.out, "2 of 2 found (100.00 %), 2 placed"), "%s", p.out);
    cr_assert(strstr(p.out, "2 models, 0 false alarms"), "%s", p.out);
    cr_assert_null(strstr(p.out, "no-mask"));
    for (const char *line = p.out; *line; line += strcspn(line, "\n") + 1)
        cr_assert_leq(strcspn(line, "\n"), 80, "%.100s", line);
    program_free(&p);
}

Test(cmd_lab, json_holds_the_same)
{
    struct program p;
    PROGRAM(&p, "lab", "detectors", "--fault", "draws-all", "--trials", "2", "--configurations", "1", "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    cr_assert_eq(json_real_value(json_object_get(o, "recall")), 1);
    cr_assert_eq(json_integer_value(json_object_get(o, "false_alarms")), 0);
    cr_assert_eq(json_integer_value(json_object_get(o, "correct_configurations")), 1);
    const json_t *f = json_array_get(json_object_get(o, "faults"), 0);
    cr_assert_str_eq(json_string_value(json_object_get(f, "name")), "draws-all");
    cr_assert_eq(json_real_value(json_object_get(json_object_get(f, "by"), "overlap")), 1);
    json_decref(o);
    program_free(&p);
}

Test(cmd_lab, refuses_what_it_does_not_know)
{
    struct program p;
    PROGRAM(&p, "lab", "alchemy");
    program_expect_refused(&p, 2, "expected detectors, cost, scaling, heads or verdicts");
    program_free(&p);
    PROGRAM(&p, "lab", "detectors", "--fault", "gremlins");
    program_expect_refused(&p, 2, "gremlins");
    program_free(&p);
    PROGRAM(&p, "lab");
    cr_assert_eq(p.status, 2);
    program_free(&p);
}
