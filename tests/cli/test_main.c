#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support/program.h"

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

Test(main, no_arguments_is_wrong_usage_and_help_is_not)
{
    struct program p;
    PROGRAM(&p, NULL);
    cr_assert_eq(p.status, 2);
    cr_assert_eq(p.out_size, 0);
    cr_assert(strstr(p.err, "Usage: nopeek COMMAND"));
    cr_assert(strstr(p.err, "`nopeek help` lists all commands.\n"));
    program_free(&p);
    const char *const ways[] = {"help", "--help", "-h"};
    for (size_t i = 0; i < 3; i++) {
        PROGRAM(&p, ways[i]);
        cr_assert_eq(p.status, 0);
        cr_assert_eq(p.err_size, 0);
        cr_assert(strstr(p.out, "generate"));
        program_free(&p);
    }
}

Test(main, a_commands_page_comes_from_help_and_from_the_command_itself)
{
    struct program a, b, c;
    PROGRAM(&a, "help", "generate");
    PROGRAM(&b, "generate", "--help");
    PROGRAM(&c, "generate", "x", "y", "z", "-h");
    cr_assert(a.status == 0 && b.status == 0 && c.status == 0);
    cr_assert(strstr(a.out, "--temperature"));
    cr_assert_str_eq(a.out, b.out);
    cr_assert_str_eq(a.out, c.out);
    program_free(&a);
    program_free(&b);
    program_free(&c);
}

Test(main, the_version_is_one_line_everywhere)
{
    struct program a, b;
    PROGRAM(&a, "--version");
    PROGRAM(&b, "corpus", "--version");
    cr_assert(a.status == 0 && b.status == 0);
    cr_assert_eq(lines(a.out), 1);
    cr_assert_eq(strncmp(a.out, "nopeek ", 7), 0);
    cr_assert_str_eq(a.out, b.out);
    program_free(&a);
    program_free(&b);
}

Test(main, wrong_usage_is_one_line_on_stderr_and_status_2)
{
    const struct {
        const char *words[4], *says;
    } cases[] = {
        {{"gnerate"}, "did you mean generate?"},
        {{"zzzzzz"}, "nopeek help lists them"},
        {{"hlp"}, "did you mean help?"},
        {{"help", "evla"}, "did you mean eval?"},
        {{"help", "zzzzzz"}, "nopeek help lists them"},
        {{"--verbose"}, "expected a command first"},
        {{"generate"}, "expected RUN, found nothing"},
        {{"generate", "a", "b"}, "found \"b\""},
        {{"corpus", "text"}, "takes options only"},
        {{"corpus", "--sede", "3"}, "did you mean --seed?"},
        {{"corpus", "--size", "0"}, "1 to 1000000000"},
        {{"generate", "x", "--top-k", "-1"}, "--top-k: found \"-1\""},
        {{"generate", "x", "--temperature", "nan"}, "0 or more"},
        {{"generate", "x", "--temperature", "-1"}, "\"-1\""},
        {{"generate", "x", "--temperature", "abc"}, "\"abc\""},
        {{"generate", "x", "--top-p", "1.1"}, "0 to 1"},
        {{"generate", "x", "--min-p", "nan"}, "0 to 1"},
        {{"generate", "x", "--seed", "-3"}, "--seed"},
        {{"eval", "x", "--part", "test"}, "one of all, train, val"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p;
        program_run(
            &p, NULL,
            (const char *const[]){cases[i].words[0], cases[i].words[1], cases[i].words[2], cases[i].words[3], NULL});
        cr_assert_eq(p.status, 2, "%zu: %d", i, p.status);
        cr_assert_eq(p.out_size, 0);
        cr_assert_eq(lines(p.err), 1, "%s", p.err);
        cr_assert_eq(strncmp(p.err, "nopeek: ", 8), 0, "%s", p.err);
        cr_assert(strstr(p.err, cases[i].says), "\"%s\" lacks \"%s\"", p.err, cases[i].says);
        program_free(&p);
    }
}

Test(main, a_run_that_is_not_there_is_status_1)
{
    const char *const commands[] = {"generate", "eval", "info"};
    for (size_t i = 0; i < 3; i++) {
        struct program p;
        PROGRAM(&p, commands[i], "/nonexistent/run");
        cr_assert_eq(p.status, 1);
        cr_assert(strstr(p.err, "/nonexistent/run"), "%s", p.err);
        cr_assert_eq(lines(p.err), 1, "%s", p.err);
        program_free(&p);
    }
}

Test(main, lost_output_is_reported_with_its_reason)
{
    const struct {
        const char *line, *says;
    } cases[] = {
        {"\"$NOPEEK\" help >/dev/full", "No space left"},
        {"\"$NOPEEK\" --version >/dev/full", "No space left"},
        {"\"$NOPEEK\" corpus --size 100000 >/dev/full", "No space left"},
        {"\"$NOPEEK\" corpus --help >&-", "Bad file"},
        {"{ \"$NOPEEK\" corpus --size 1000000; echo $? >&2; } | :", "1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p;
        if (strstr(cases[i].line, "/dev/full")) {
            program_shell(&p, "test -c /dev/full");
            const int there = p.status == 0;
            program_free(&p);
            if (!there)
                continue;
        }
        program_shell(&p, cases[i].line);
        cr_assert(strstr(p.err, "nopeek: standard output: "), "%s: %s", cases[i].line, p.err);
        cr_assert(strstr(p.err, cases[i].says), "%s: %s", cases[i].line, p.err);
        program_free(&p);
    }
}

Test(main, closed_standard_streams_never_lend_their_number_to_a_file)
{
    struct program p;
    program_shell(&p, "d=$(mktemp -d); \"$NOPEEK\" corpus --size 500 -o $d/t.txt --json >&- 2>&- <&-; echo $?; "
                      "head -c 1 $d/t.json; tail -c 2 $d/t.json; rm -r $d");
    cr_assert_str_eq(p.out, "1\n{}\n", "%s%s", p.out, p.err);
    program_free(&p);
}

#ifndef NOPEEK_SANITIZED /* sanitizers have all addresses taken */
/* 100 MB of addresses: OpenBLAS wants 128 for its first product, and its threads for ever at exit. */
Test(main, what_computes_nothing_runs_where_there_is_no_room_for_products_and_everything_ends, .timeout = 120)
{
    const struct {
        const char *line;
        int status;
    } cases[] = {
        {"help", 0},
        {"corpus --size 1000", 0},
        {"info /nonesuch", 1},
        {"import /nonesuch -o /nonesuch-run", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p;
        char line[128];
        snprintf(line, sizeof line, "ulimit -v 100000; exec \"$NOPEEK\" %s", cases[i].line);
        program_shell(&p, line);
        cr_assert_eq(p.status, cases[i].status, "%s: %s", cases[i].line, p.err);
        cr_assert_null(strstr(p.err, "OpenBLAS"), "%s: %s", cases[i].line, p.err);
        cr_assert(i != 0 || strstr(p.out, "Usage"), "what was written arrives");
        program_free(&p);
    }
}
#endif
