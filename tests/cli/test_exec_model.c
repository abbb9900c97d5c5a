#include "cli/exec_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#define FAKE "sh '" NOPEEK_SOURCE "/tests/support/fake_model.sh'"

static void ignore_pipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}

TestSuite(exec_model, .init = ignore_pipe, .timeout = 60);

Test(exec_model, is_a_black_box)
{
    struct exec_model m;
    struct error err;
    const uint32_t tokens[] = {1, 4, 0};
    const size_t rows[] = {0, 2};
    double all[3 * 5], some[2 * 5];
    cr_assert_eq(exec_model_start(&m, FAKE, 20, NULL, &err), STATUS_OK, "%s", err.message);
    cr_assert(m.blackbox.V == 5 && m.blackbox.T == 20);
    cr_assert_eq(blackbox_ask(&m.blackbox, all, tokens, 3, NULL, 3, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(blackbox_ask(&m.blackbox, some, tokens, 3, rows, 2, &err), STATUS_OK, "%s", err.message);
    cr_assert(memcmp(all, some, 5 * sizeof *all) == 0 && memcmp(all + 10, some + 5, 5 * sizeof *all) == 0);
    double sum = 0; /* of exp(logits), from the fake's formula, to compare one probability */
    for (int v = 0; v < 5; v++)
        sum += exp(sin(1 * 7.3 + v * 3.1 + 1));
    cr_assert_float_eq(all[3], sin(1 * 7.3 + 3 * 3.1 + 1) - log(sum), 1e-6);
    exec_model_stop(&m);
}

Test(exec_model, that_does_not_greet_is_stopped)
{
    struct exec_model m;
    struct error err;
    cr_assert_eq(exec_model_start(&m, "read x; echo hello", 20, NULL, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "the first question, {\"hello\":1}: found a line that is no JSON object, \"hello\""),
              "%s", err.message);
    cr_assert_eq(m.child.pid, 0);
    cr_assert_eq(exec_model_start(&m, "exit 7", 20, NULL, &err), STATUS_READ);
    cr_assert(strstr(err.message, "exited with status 7"), "%s", err.message);
    cr_assert_eq(m.child.pid, 0);
}
