#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "support/program.h"

Test(lab_heads, prints_every_training_on_eighty_columns)
{
    struct program p;
    PROGRAM(&p, "lab", "heads", "--steps", "20", "--seeds", "2", "--threads", "1", "--seed", "41");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "\n  1 of 32    41 ") && strstr(p.out, "\n  4 of 8     41 "), "%s", p.out);
    cr_assert(strstr(p.out, "\n             42 ") && strstr(p.out, "texts; 20 steps"), "%s", p.out);
    cr_assert(strstr(p.out, "solved with 0 of 2 seeds"), "%s", p.out);
    for (const char *line = p.out; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 80, "%.90s", line);
    program_free(&p);
}

Test(lab_heads, json_holds_every_head)
{
    struct program p;
    PROGRAM(&p, "lab", "heads", "--steps", "5", "--seeds", "2", "--threads", "2", "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    const json_t *models = json_object_get(o, "models");
    cr_assert_eq(json_array_size(models), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *m = json_array_get(models, i), *trainings = json_object_get(m, "trainings");
        cr_assert_eq(json_integer_value(json_object_get(m, "heads")), 1 << i);
        cr_assert_eq(json_array_size(trainings), 2);
        const json_t *last = json_array_get(trainings, 1), *heads = json_object_get(last, "heads");
        cr_assert_eq(json_integer_value(json_object_get(last, "seed")), 2);
        cr_assert_eq(json_array_size(heads), (size_t)1 << i);
        cr_assert(json_real_value(json_object_get(json_array_get(heads, 0), "by_place")) > 0);
        cr_assert(json_real_value(json_object_get(m, "loss")) > 0);
    }
    json_decref(o);
    program_free(&p);
}

Test(lab_heads, refuses_no_steps_and_no_seeds)
{
    struct program p;
    PROGRAM(&p, "lab", "heads", "--steps", "0");
    program_expect_refused(&p, 2, "at least 1");
    program_free(&p);
    PROGRAM(&p, "lab", "heads", "--seeds", "17");
    program_expect_refused(&p, 2, "16");
    program_free(&p);
}
