/* nopeek explain, from outside. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"

TestSuite(cmd_explain, .init = scratch_make, .fini = scratch_remove);

static double at(const json_t *o, const char *rule, const char *key, size_t row, size_t col)
{
    const json_t *m = json_object_get(rule ? json_object_get(o, rule) : o, key);
    return json_number_value(json_array_get(json_array_get(m, row), col));
}

Test(cmd_explain, json_has_every_number)
{
    struct program p;
    PROGRAM(&p, "explain", "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert_not_null(o);
    cr_assert_float_eq(at(o, NULL, "scores", 1, 2), 10, 1e-6);
    for (size_t row = 0; row < 3; row++) {
        double full = 0, causal = 0;
        for (size_t col = 0; col < 3; col++) {
            full += at(o, "full", "weights", row, col);
            causal += at(o, "causal", "weights", row, col);
            cr_assert(col <= row || at(o, "causal", "weights", row, col) == 0);
        }
        cr_assert_float_eq(full, 1, 1e-6);
        cr_assert_float_eq(causal, 1, 1e-6);
    }
    cr_assert_float_eq(at(o, "full", "result", 1, 0), 1.98, 0.006);
    cr_assert_float_eq(at(o, "full", "result", 1, 1), 1.97, 0.006);
    json_decref(o);
    program_free(&p);
}

Test(cmd_explain, its_example_is_a_file_to_begin_from)
{
    struct program p, own;
    PROGRAM(&p, "explain", "--example");
    cr_assert_eq(p.status, 0);
    const char *path = scratch_path("mine.json");
    scratch_write(path, p.out, p.out_size);
    program_free(&p);
    PROGRAM(&p, "explain");
    PROGRAM(&own, "explain", path);
    cr_assert_str_eq(p.out, own.out);
    program_free(&p);
    program_free(&own);
    PROGRAM(&p, "explain", path, "--word", "river");
    cr_assert(strstr(p.out, "What does \"river\" look at?"), "%s", p.out);
    program_free(&p);
}

Test(cmd_explain, a_word_or_file_that_is_not_there_is_refused)
{
    struct program p;
    PROGRAM(&p, "explain", "--word", "money");
    program_expect_refused(&p, 1, "\"money\", is none of its words");
    program_free(&p);
    PROGRAM(&p, "explain", scratch_path("nowhere.json"));
    program_expect_refused(&p, 1, "nowhere.json");
    program_free(&p);
}
