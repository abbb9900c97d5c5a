#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"

TestSuite(lab_verdicts, .init = scratch_make, .fini = scratch_remove);

Test(lab_verdicts, prints_every_run_with_what_was_said_and_the_margins)
{
    struct program p;
    PROGRAM(&p, "lab", "verdicts", "--trials", "1", "--steps", "120", "--threads", "1", "--seed", "31");
    cr_assert_eq(p.status, 0, "%s%s", p.out, p.err);
    cr_assert(strstr(p.out, "\ngood           seed 31   right  loss "), "%s", p.out);
    cr_assert(strstr(p.out, "; told nothing\n") && strstr(p.out, ": collapse: layer "), "%s", p.out);
    cr_assert(strstr(p.out, "queries and keys do not learn") && strstr(p.out, "softmax temperature of 20"), "%s",
              p.out);
    cr_assert(strstr(p.out, "worst good") && strstr(p.out, "1 of 1 good runs were told nothing, 3 of 3 spoiled ones"),
              "%s", p.out);
    program_free(&p);
}

Test(lab_verdicts, json_holds_the_counts_and_a_text_is_read)
{
    struct program p;
    char text[6000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "abcdefg \n"[(i * i / 5 + i / 3) % 9];
    const char *path = scratch_path("text");
    scratch_write(path, text, sizeof text);
    PROGRAM(&p, "lab", "verdicts", path, "--trials", "1", "--steps", "100", "--threads", "1", "--json");
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s%s", p.out, p.err);
    const long long right =
        json_integer_value(json_object_get(o, "good_right")) + json_integer_value(json_object_get(o, "spoiled_right"));
    cr_assert(json_integer_value(json_object_get(o, "good")) == 1 &&
              json_integer_value(json_object_get(o, "spoiled")) == 3);
    cr_assert_eq(p.status, right == 4 ? 0 : 1, "%s", p.err);
    cr_assert_eq(json_array_size(json_object_get(o, "runs")), 4);
    const json_t *run = json_array_get(json_object_get(o, "runs"), 3);
    cr_assert_str_eq(json_string_value(json_object_get(run, "run")), "temperature 20");
    const json_t *hot = json_object_get(json_object_get(o, "margins"), "temperature");
    cr_assert_float_eq(json_number_value(json_object_get(hot, "spoiled")), 20, 0.2);
    cr_assert_float_eq(json_number_value(json_object_get(hot, "good")), 1, 0.01);
    json_decref(o);
    program_free(&p);
}

Test(lab_verdicts, refuses_too_few_steps_no_trials_and_no_text)
{
    struct program p;
    PROGRAM(&p, "lab", "verdicts", "--steps", "99");
    program_expect_refused(&p, 2, "at least 100");
    program_free(&p);
    PROGRAM(&p, "lab", "verdicts", "--trials", "0");
    program_expect_refused(&p, 2, "at least 1");
    program_free(&p);
    PROGRAM(&p, "lab", "verdicts", "nowhere.txt");
    program_expect_refused(&p, 1, "nowhere.txt");
    program_free(&p);
    PROGRAM(&p, "lab", "heads", "book.txt");
    program_expect_refused(&p, 2, "book.txt");
    program_free(&p);
}
