#include "store/run_steps.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/state.h"
#include "support/scratch.h"

TestSuite(run_steps, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

static void make_step(const char *name, bool complete)
{
    cr_assert_eq(mkdir(scratch_path("%s", name), 0777), 0);
    scratch_write(scratch_path("%s/trainer_state.json", name), "x", 1);
    if (complete)
        scratch_write(scratch_path("%s/model.safetensors", name), "x", 1);
}

Test(run_steps, a_number_has_one_spelling)
{
    const struct {
        const char *name;
        size_t step;
    } cases[] = {{"step-000000", 0},
                 {"step-000500", 500},
                 {"step-1000000", 1000000},
                 {"step-500", STATE_NO_STEP},
                 {"step-0000500", STATE_NO_STEP},
                 {"step--00500", STATE_NO_STEP},
                 {"step- 00500", STATE_NO_STEP},
                 {"step-00050x", STATE_NO_STEP},
                 {"step-99999999999999999999", STATE_NO_STEP},
                 {"", STATE_NO_STEP},
                 {"step", STATE_NO_STEP}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_assert_eq(run_steps_number(cases[i].name, strlen(cases[i].name)), cases[i].step, "%s", cases[i].name);
    cr_assert_eq(run_steps_number("step-000500.old", 11), 500, "as many characters as are asked for");
}

Test(run_steps, folders_are_listed_in_order_and_complete_ones_apart)
{
    struct error err;
    struct run_steps steps;
    make_step("step-000300", true);
    make_step("step-1000000", true);
    make_step("step-000100", true);
    make_step("step-000200", false);
    scratch_write(scratch_path("step-000400"), "x", 1);
    cr_assert_eq(symlink("step-000300", scratch_path("step-000500")), 0);
    cr_assert_eq(run_steps_list(&steps, scratch_folder(), true, &err), STATUS_OK, "%s", err.message);
    cr_assert(steps.count == 3 && steps.step[0] == 100 && steps.step[1] == 300 && steps.step[2] == 1000000);
    cr_assert_not(steps.vanished);
    free(steps.step);
    cr_assert_eq(run_steps_list(&steps, scratch_folder(), false, &err), STATUS_OK, "%s", err.message);
    cr_assert(steps.count == 4 && steps.step[1] == 200);
    free(steps.step);
}

Test(run_steps, what_cannot_be_seen_is_an_error_and_not_an_absence)
{
    struct error err;
    bool is;
    size_t step;
    struct run_steps steps;
    char longer[400]; /* no name is that long */
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    cr_assert_eq(run_steps_is(&is, longer, "step-000001", true, &err), STATUS_OPEN);
    cr_assert_eq(run_steps_has_file(&is, longer, "x", 0, &err), STATUS_OPEN);
    cr_assert_eq(run_steps_is_link(&is, longer, "x", &err), STATUS_OPEN);
    cr_assert_eq(run_steps_linked(&step, longer, "latest", &err), STATUS_OPEN);
    cr_assert(strstr(err.message, "too long") && step == STATE_NO_STEP, "%s", err.message);
    cr_assert_eq(run_steps_list(&steps, scratch_path("absent"), true, &err), STATUS_OPEN);
    free(steps.step);
    /* Absences, for comparison. */
    cr_assert_eq(run_steps_is(&is, scratch_folder(), "step-000001", true, &err), STATUS_OK);
    cr_assert_not(is);
    cr_assert_eq(symlink("loop", scratch_path("loop")), 0);
    cr_assert_eq(run_steps_has_file(&is, scratch_folder(), "loop", 0, &err), STATUS_OK);
    cr_assert_not(is);
    cr_assert_eq(run_steps_linked(&step, scratch_folder(), "loop", &err), STATUS_OK);
    cr_assert_eq(step, STATE_NO_STEP);
}

/* The link moves on, then what it led to before goes. Ends with the test that watches. */
static void move_on(pid_t watcher)
{
    const char *const step[] = {scratch_path("step-000001"), scratch_path("step-000002")},
                      *const away[] = {scratch_path("away-1"), scratch_path("away-2")},
                      *const new = scratch_path("new"), *const latest = scratch_path("latest");
    for (size_t next = 1; getppid() == watcher; next = 1 - next)
        if (rename(away[next], step[next]) != 0 || symlink(next ? "step-000002" : "step-000001", new) != 0 ||
            rename(new, latest) != 0 || rename(step[1 - next], away[1 - next]) != 0)
            _exit(1);
    _exit(0);
}

Test(run_steps, a_link_that_moves_on_while_it_is_read_always_means_a_step)
{
    struct error err;
    const pid_t self = getpid();
    make_step("step-000001", true);
    make_step("away-2", true);
    cr_assert_eq(symlink("step-000001", scratch_path("latest")), 0);
    const pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0)
        move_on(self);
    size_t last = 0, changes = 0;
    for (size_t i = 0; i < 20000 || changes < 200; i++) {
        size_t step;
        cr_assert_eq(run_steps_linked(&step, scratch_folder(), "latest", &err), STATUS_OK, "%s", err.message);
        cr_assert(step == 1 || step == 2, "%zu after %zu", step, i);
        changes += step != last;
        last = step;
    }
    int status;
    cr_assert(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}
