#include "io/child.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

static void ignore_pipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}

TestSuite(child, .init = ignore_pipe, .timeout = 60);

static void start(struct child *c, const char *command)
{
    struct error err;
    cr_assert_eq(child_start(c, command, environ, &err), STATUS_OK, "%s", err.message);
    c->timeout = 20;
}

/* One question fails in these words. */
static void expect(const char *command, double timeout, size_t longest, const char *words)
{
    struct child c;
    struct error err = {{0}};
    char *answer;
    size_t n;
    start(&c, command);
    c.timeout = timeout;
    c.longest_line = longest;
    cr_assert_eq(child_ask(&c, "question\n", 9, &answer, &n, &err), STATUS_READ, "%s", command);
    cr_assert(strstr(err.message, words), "\"%s\" lacks \"%s\"", err.message, words);
    child_stop(&c, 0);
}

Test(child, answers_one_line_to_each_question)
{
    struct child c;
    struct error err;
    char *answer;
    size_t n;
    start(&c, "echo begun >&2; while read -r line; do echo \"[$line]\"; done");
    for (int k = 0; k < 3; k++) {
        cr_assert_eq(child_ask(&c, "a b\n", 4, &answer, &n, &err), STATUS_OK, "%s", err.message);
        cr_assert_str_eq(answer, "[a b]");
        cr_assert_eq(n, 5);
    }
    child_stop(&c, 5);
    child_stop(&c, 5);
}

/* More than a pipe holds, both ways at once: neither side may wait for the other to read first. */
Test(child, long_questions_and_answers_cross)
{
    struct child c;
    struct error err;
    char *answer;
    const size_t size = 3000000;
    size_t n;
    char *question = malloc(size);
    memset(question, 'x', size);
    question[size - 1] = '\n';
    start(&c, "cat");
    for (int k = 0; k < 2; k++) {
        cr_assert_eq(child_ask(&c, question, size, &answer, &n, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(n, size - 1);
        cr_assert(memcmp(answer, question, n) == 0);
    }
    free(question);
    child_stop(&c, 5);
}

Test(child, tells_its_ends_apart)
{
    const size_t most = CHILD_LONGEST_LINE;
    expect("exit 3", 20, most, "exited with status 3 without an answer");
    expect("read x; echo 'no such file: w.pt' >&2; echo >&2; exit 1", 20, most,
           "exited with status 1 without an answer; the last line of its standard error: no such file: w.pt");
    expect("read x; printf 12345; exit 0", 20, most,
           "exited with status 0 in the middle of an answer, after 5 bytes of it");
    expect("read x; kill -KILL $$", 20, most, "ended by signal 9 (");
    expect("read x; sh -c 'kill -TERM $$'; exit $?", 20, most, "ended by signal 15 (");
    expect("/nowhere/to/be-found", 20, most, "could not be run (the shell's status 127)");
    expect("exec 1>&-; sleep 100", 20, most, "closed its standard output without an answer, and runs on");
    expect("read x; sleep 100", 0.2, most, "has not answered within 0.2 s");
    expect("read x; printf 123; sleep 100", 0.2, most, "no end of line yet");
    expect("read x; yes | tr -d '\\n'", 20, 1000000, "a line of more than 1000000 bytes");
    expect("kill -PIPE $$; echo SIGPIPE was left ignored", 20, most, "ended by signal 13 (");
}

Test(child, that_does_not_read_is_told_so)
{
    struct child c;
    struct error err;
    char *answer;
    size_t n;
    const size_t size = 1000000;
    char *question = calloc(1, size);
    start(&c, "sleep 100");
    c.timeout = 0.2;
    cr_assert_eq(child_ask(&c, question, size, &answer, &n, &err), STATUS_READ);
    cr_assert(strstr(err.message, "does not read its standard input"), "%s", err.message);
    child_stop(&c, 0);
    start(&c, "exec 0<&-; sleep 100");
    cr_assert_eq(child_ask(&c, question, size, &answer, &n, &err), STATUS_READ);
    cr_assert(strstr(err.message, "closed its standard input"), "%s", err.message);
    child_stop(&c, 0);
    free(question);
}

Test(child, that_answers_twice_is_told_so)
{
    struct child c;
    struct error err;
    char *answer;
    size_t n;
    start(&c, "while read x; do printf 'one\\ntwo\\n'; done");
    cr_assert_eq(child_ask(&c, "q\n", 2, &answer, &n, &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(answer, "one");
    cr_assert_eq(child_ask(&c, "q\n", 2, &answer, &n, &err), STATUS_READ);
    cr_assert(strstr(err.message, "more than one line"), "%s", err.message);
    child_stop(&c, 0);
}

static bool at_once(void)
{
    return true;
}

Test(child, waiting_can_be_interrupted)
{
    struct child c;
    struct error err;
    char *answer;
    size_t n;
    start(&c, "sleep 100");
    c.interrupted = at_once;
    cr_assert_eq(child_ask(&c, "q\n", 2, &answer, &n, &err), STATUS_INTERRUPTED);
    child_stop(&c, 0);
}

/* The pipe's other end is held by the shell and by what it started: it ends when all of them have. */
Test(child, stopping_ends_everything_it_started)
{
    int ends[2];
    char byte;
    struct child c;
    struct error err;
    char *answer;
    size_t n;
    cr_assert_eq(pipe(ends), 0);
    start(&c, "sleep 1000 & sleep 1000 & read x; echo ready; sleep 1000");
    close(ends[1]);
    cr_assert_eq(child_ask(&c, "q\n", 2, &answer, &n, &err), STATUS_OK, "%s", err.message);
    const double before = clock_seconds();
    child_stop(&c, 0.1);
    cr_assert_eq(read(ends[0], &byte, 1), 0);
    cr_assert_lt(clock_seconds() - before, 20);
    close(ends[0]);
}

Test(child, has_the_environment_that_it_is_given)
{
    struct child c;
    struct error err;
    char *answer;
    size_t n;
    char *environment[] = {(char *)"WORD=given", NULL};
    cr_assert_eq(child_start(&c, "echo \"$WORD\"", environment, &err), STATUS_OK);
    cr_assert_eq(child_ask(&c, "", 0, &answer, &n, &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(answer, "given");
    child_stop(&c, 5);
}
