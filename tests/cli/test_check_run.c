#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

static struct tiny_run make(const char *name, bool leaky, bool stateless)
{
    const struct tiny_run r = {.dir = scratch_path("%s", name),
                               .text_path = scratch_path("%s.txt", name),
                               .text = "abc cab bca\nba ac cb\nabc cab bca\nba ac cb\n",
                               .block_size = 8,
                               .leaky = leaky,
                               .stateless = stateless};
    tiny_run_write(&r);
    return r;
}

TestSuite(check_run, .init = scratch_make, .fini = scratch_remove);

static json_t *last_object(const struct program *p)
{
    json_t *o = json_loads(p->out, 0, NULL);
    cr_assert(o, "%s%s", p->out, p->err);
    return o;
}

Test(check_run, a_correct_run_is_clean)
{
    const struct tiny_run r = make("run", false, false);
    struct program p;
    PROGRAM(&p, "check", r.dir);
    cr_assert_eq(p.status, 0, "%s%s", p.out, p.err);
    const char *const detectors[] = {"suffix", "blocks", "decode", "stress", "overlap"};
    for (size_t k = 0; k < 5; k++)
        cr_assert(strstr(p.out, detectors[k]), "%s", p.out);
    cr_assert(strstr(p.out, "No leak found"));
    cr_assert_str_eq(p.err, "");
    program_free(&p);
}

Test(check_run, a_leaky_run_is_located_priced_and_ends_with_3)
{
    const struct tiny_run r = make("run", true, false);
    for (int quick = 0; quick < 2; quick++) {
        struct program p;
        PROGRAM(&p, "check", "--json", r.dir, quick ? "--quick" : NULL);
        cr_assert_eq(p.status, 3, "%s", p.err);
        json_t *o = last_object(&p);
        cr_assert(json_is_true(json_object_get(o, "leak")));
        cr_assert(json_is_number(json_object_get(o, "nats")));
        json_t *f = json_array_get(json_object_get(o, "findings"), 0);
        cr_assert_str_eq(json_string_value(json_object_get(f, "operation")), "attention");
        cr_assert_str_eq(json_string_value(json_object_get(f, "offset")), "all");
        cr_assert_eq(json_integer_value(json_object_get(f, "layer")), 0);
        cr_assert_eq(json_integer_value(json_object_get(f, "head")), 0);
        json_decref(o);
        program_free(&p);
    }
}

Test(check_run, alike_places_are_one_line)
{
    const struct tiny_run r = make("run", true, false);
    struct program p;
    PROGRAM(&p, "check", r.dir);
    cr_assert_eq(p.status, 3);
    cr_assert(strstr(p.out, "layers 0-1 heads 0-1 attention: attention sees all later positions"), "%s", p.out);
    cr_assert(strstr(p.out, "what to do: "), "%s", p.out);
    program_free(&p);
}

Test(check_run, a_text_that_has_gone_costs_a_note_and_one_that_is_named_must_be_there)
{
    const struct tiny_run r = make("run", false, false);
    remove(r.text_path);
    struct program p;
    PROGRAM(&p, "check", "--quick", r.dir);
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "text is left out") && strstr(p.err, r.text_path), "%s", p.err);
    program_free(&p);
    PROGRAM(&p, "check", "--quick", r.dir, r.text_path);
    program_expect_refused(&p, 1, r.text_path);
    program_free(&p);
}

Test(check_run, a_checkpoint_from_elsewhere_is_checked_without_its_text)
{
    const struct tiny_run r = make("run", false, true);
    struct program p;
    PROGRAM(&p, "check", "--quick", r.dir);
    cr_assert_eq(p.status, 0, "%s%s", p.out, p.err);
    cr_assert_str_eq(p.err, "");
    program_free(&p);
    PROGRAM(&p, "check", scratch_path("nothing"));
    program_expect_refused(&p, 1, "nothing");
    program_free(&p);
}
