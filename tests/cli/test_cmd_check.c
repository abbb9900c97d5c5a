#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"

#define FAKE "sh '" NOPEEK_SOURCE "/tests/support/fake_model.sh'"
#define HELLO "read x; echo '{\"vocab_size\":2,\"context\":4}'; "

TestSuite(cmd_check, .timeout = 120);

/* check --exec COMMAND with this exit status; its object. */
static json_t *check(const char *command, int status)
{
    struct program p;
    PROGRAM(&p, "check", "--quick", "--json", "--timeout", "20", "--exec", command);
    cr_assert_eq(p.status, status, "%s: %s%s", command, p.out, p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o && strchr(p.out, '\n') == p.out + p.out_size - 1, "one object on one line: %s", p.out);
    program_free(&p);
    return o;
}

Test(cmd_check, a_causal_program_is_clean)
{
    json_t *o = check(FAKE, 0);
    cr_assert(json_is_false(json_object_get(o, "leak")));
    cr_assert_eq(json_array_size(json_object_get(o, "findings")), 0);
    cr_assert_eq(json_array_size(json_object_get(o, "detectors")), 8);
    cr_assert(!json_object_get(o, "error"));
    json_decref(o);
}

Test(cmd_check, a_leak_is_named_by_its_offset)
{
    const struct {
        const char *command, *offset;
    } cases[] = {{FAKE " nomask", "all"}, {FAKE " plus1", "+1"}, {FAKE " block4", "block 4"}};
    for (size_t i = 0; i < 3; i++) {
        json_t *o = check(cases[i].command, 3);
        cr_assert(json_is_true(json_object_get(o, "leak")));
        json_t *finding = json_array_get(json_object_get(o, "findings"), 0);
        cr_assert_str_eq(json_string_value(json_object_get(finding, "offset")), cases[i].offset);
        cr_assert(json_is_null(json_object_get(finding, "layer")));
        json_decref(o);
    }
}

Test(cmd_check, people_get_a_table_the_cause_and_advice)
{
    struct program p;
    PROGRAM(&p, "check", "--quick", "--exec", FAKE " plus1");
    cr_assert_eq(p.status, 3);
    cr_assert(strstr(p.err, "not to be trusted"), "%s", p.err);
    const char *const parts[] = {"suffix      found", "order       clean", "\nLEAK\n", "the next position only (+1)",
                                 "what to do: the mask's diagonal is off"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(strstr(p.out, parts[i]), "no \"%s\" in %s", parts[i], p.out);
    size_t lines = 0;
    for (const char *c = p.out; *c; c++)
        lines += *c == '\n';
    cr_assert_lt(lines, 24);
    program_free(&p);
    PROGRAM(&p, "check", "--quick", "--exec", FAKE);
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "\nNo leak found.\n") && p.err_size == 0, "%s%s", p.out, p.err);
    program_free(&p);
}

/* Each is a broken program, exit 1, in words that tell it from the others; and never a leak. */
Test(cmd_check, broken_programs_are_told_apart)
{
    const struct {
        const char *command, *words;
    } cases[] = {
        {"sleep 1000", "has not answered within 0.5 s"},
        {HELLO "read x; sleep 1000", "question 1 (4 tokens): the program has not answered within 0.5 s"},
        {"sleep 10 & exit 6", "exited with status 6 without an answer"},
        {"exit 4", "exited with status 4 without an answer"},
        {HELLO "read x; echo 'out of memory' >&2; exit 1", "standard error: out of memory"},
        {HELLO "read x; printf '{\"logits\":[[1,'; exit 0", "in the middle of an answer"},
        {HELLO "read x; kill -SEGV $$", "ended by signal 11"},
        {HELLO "exec 1>&-; sleep 1000", "closed its standard output"},
        {HELLO "while read x; do echo Loading; done", "no JSON object, \"Loading\""},
        {HELLO "while read x; do echo '{\"logits\":[]}'; done", "has 0 rows, expected 4"},
        {HELLO "while read x; do echo '{\"logits\":[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]}'; done",
         "row 0 of \"logits\" has 3 numbers, expected 2"},
        {HELLO "while read x; do echo '{\"error\":\"no GPU\"}'; done", "the program says: no GPU"},
        {HELLO "while read x; do printf '{}\\n{}\\n'; done", "there is no \"logits\""},
        {FAKE " nan", "not finite: row 0 has NaN (or null) for symbol 2"},
        {FAKE " | sed -u 's/\\[\\[[^,]*/[[Infinity/'", "not finite: row 0 has Infinity for symbol 0"},
        {FAKE " short", "row 0 of \"logits\" has 4 numbers, expected 5"},
        {FAKE " random", "answers differ between identical questions"},
        {"/nowhere/at-all", "could not be run"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p;
        PROGRAM(&p, "check", "--timeout", i < 3 ? "0.5" : "20", "--exec", cases[i].command);
        program_expect_refused(&p, 1, cases[i].words);
        program_free(&p);
    }
    json_t *o = check("exit 4", 1);
    cr_assert(json_is_null(json_object_get(o, "leak")));
    cr_assert(strstr(json_string_value(json_object_get(o, "error")), "exited with status 4"));
    json_decref(o);
}

Test(cmd_check, a_program_may_take_its_time_to_load)
{
    json_decref(check("sleep 1; " FAKE, 0));
}

/* Ctrl-C ends the program that was started too: the shell below waits for it by its pipe. */
Test(cmd_check, an_interrupt_ends_both)
{
    struct program p;
    program_shell(
        &p, "{ \"$NOPEEK\" check --exec 'sleep 1000' & pid=$!; sleep 1; kill -TERM $pid; wait $pid; echo $?; } | cat");
    cr_assert(strstr(p.out, "130\n"), "%s%s", p.out, p.err);
    program_free(&p);
}

Test(cmd_check, wrong_usage_is_refused)
{
    struct program p;
    PROGRAM(&p, "check");
    program_expect_refused(&p, 2, "expected a RUN, or --exec CMD");
    program_free(&p);
    PROGRAM(&p, "check", "run", "--exec", "cat");
    program_expect_refused(&p, 2, "found both RUN and --exec");
    program_free(&p);
    PROGRAM(&p, "check", "--exec", "cat", "--timeout", "0");
    program_expect_refused(&p, 2, "--timeout");
    program_free(&p);
}
