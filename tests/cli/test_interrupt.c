#include "cli/interrupt.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
static int which;

static int exit_status_of(void (*work)(void))
{
    int status;
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        for (size_t i = 0; i < 3; i++) /* the tests may run under nohup, or in the background */
            signal(SIGNALS[i], SIG_DFL);
        work();
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void one(void)
{
    interrupt_catch();
    if (interrupt_pending())
        _exit(1);
    raise(SIGNALS[which]);
    _exit(interrupt_pending() ? 0 : 2);
}

static void two(void)
{
    interrupt_catch();
    raise(SIGNALS[which]);
    raise(SIGNALS[(which + 1) % 3]);
    _exit(3);
}

static void one_before(void)
{
    raise(SIGNALS[which]);
}

static void one_ignored(void)
{
    signal(SIGHUP, SIG_IGN);
    interrupt_catch();
    raise(SIGHUP);
    raise(SIGHUP);
    _exit(interrupt_pending() ? 4 : 0);
}

Test(interrupt, the_first_signal_sets_a_flag_and_the_second_ends_with_130)
{
    for (which = 0; which < 3; which++) {
        cr_assert_eq(exit_status_of(one), 0);
        cr_assert_eq(exit_status_of(two), 130);
    }
}

Test(interrupt, before_it_is_caught_a_signal_ends_the_program_as_usual)
{
    for (which = 0; which < 3; which++)
        cr_assert_eq(exit_status_of(one_before), 256 + SIGNALS[which]);
}

Test(interrupt, what_nohup_ignores_stays_ignored)
{
    cr_assert_eq(exit_status_of(one_ignored), 0);
}
