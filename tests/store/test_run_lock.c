#include "store/run_lock.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/scratch.h"

TestSuite(run_lock, .init = scratch_make, .fini = scratch_remove, .timeout = 60);

#define FILE_NAME ".nopeek-lock"

/* Another process takes the lock and says so; it holds it until it is killed, or lets go when told to. */
struct holder {
    pid_t pid;
    int said, told; /* pipes: its answer, and what it waits for */
};

static struct holder hold(const char *dir)
{
    int said[2], told[2];
    cr_assert(pipe(said) == 0 && pipe(told) == 0);
    const pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct error err;
        struct run_lock l;
        char byte = run_lock_take(&l, dir, &err) == STATUS_OK ? 'y' : 'n';
        close(told[1]);
        if (write(said[1], &byte, 1) != 1 || read(told[0], &byte, 1) < 0)
            _exit(1);
        run_lock_release(&l);
        _exit(0);
    }
    close(said[1]);
    close(told[0]);
    char byte = 0;
    cr_assert_eq(read(said[0], &byte, 1), 1);
    cr_assert_eq(byte, 'y');
    return (struct holder){pid, said[0], told[1]};
}

static void end(const struct holder *h, int by_signal)
{
    int status;
    if (by_signal)
        cr_assert_eq(kill(h->pid, by_signal), 0);
    close(h->told);
    cr_assert_eq(waitpid(h->pid, &status, 0), h->pid);
    close(h->said);
}

static void expect_refused(const char *dir, const char *part)
{
    struct error err;
    struct run_lock l;
    cr_assert_eq(run_lock_take(&l, dir, &err), STATUS_OPEN);
    cr_assert(strstr(err.message, part), "'%s' lacks '%s'", err.message, part);
    cr_assert_null(l.path);
    run_lock_release(&l); /* of nothing */
}

static void expect_taken(const char *dir)
{
    struct error err;
    struct run_lock l;
    cr_assert_eq(run_lock_take(&l, dir, &err), STATUS_OK, "%s", err.message);
    cr_assert(l.path && !l.refused_by_system);
    run_lock_release(&l);
}

Test(run_lock, a_second_process_is_refused_and_told_the_first_ones_number)
{
    char number[64];
    const struct holder h = hold(scratch_folder());
    snprintf(number, sizeof number, "process %jd is training in it", (intmax_t)h.pid);
    expect_refused(scratch_folder(), number);
    expect_refused(scratch_folder(), number); /* being refused once does not loosen it */
    end(&h, 0);
    expect_taken(scratch_folder());
    cr_assert_eq(scratch_count(scratch_folder()), 0, "nothing stays behind");
}

Test(run_lock, a_holder_that_is_killed_holds_nothing)
{
    const struct holder h = hold(scratch_folder());
    end(&h, SIGKILL);
    cr_assert(scratch_exists(scratch_path(FILE_NAME)), "the file alone locks nothing");
    expect_taken(scratch_folder());
}

/* Each that gets the lock finds the folder its own: none made at the same time by another. */
Test(run_lock, of_many_that_hurry_one_at_a_time_holds_it)
{
    pid_t pid[4];
    for (size_t i = 0; i < 4; i++) {
        pid[i] = fork();
        cr_assert_geq(pid[i], 0);
        if (pid[i] != 0)
            continue;
        size_t held = 0;
        for (size_t tries = 0; held < 200 && tries < 1000000; tries++) {
            struct error err;
            struct run_lock l;
            if (run_lock_take(&l, scratch_folder(), &err) != STATUS_OK)
                continue;
            held++;
            if (mkdir(scratch_path("mine"), 0777) != 0 || rmdir(scratch_path("mine")) != 0)
                _exit(1);
            run_lock_release(&l);
        }
        _exit(held == 200 ? 0 : 2);
    }
    for (size_t i = 0; i < 4; i++) {
        int status;
        cr_assert_eq(waitpid(pid[i], &status, 0), pid[i]);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
    }
}

Test(run_lock, what_is_no_file_of_its_own_is_named_and_left)
{
    scratch_write(scratch_path("other"), "text", 4);
    cr_assert_eq(symlink("other", scratch_path(FILE_NAME)), 0);
    expect_refused(scratch_folder(), "is a link");
    cr_assert(scratch_exists(scratch_path("other")) && unlink(scratch_path(FILE_NAME)) == 0);
    cr_assert_eq(mkfifo(scratch_path(FILE_NAME), 0666), 0);
    expect_refused(scratch_folder(), "is no regular file");
    cr_assert(scratch_exists(scratch_path(FILE_NAME)));
    struct error err;
    struct run_lock l;
    cr_assert_eq(run_lock_take(&l, scratch_path("absent"), &err), STATUS_WRITE);
    cr_assert(strstr(err.message, "absent") && strstr(err.message, "No such file"), "%s", err.message);
}

Test(run_lock, a_checkpoint_locks_the_run_around_it_and_one_that_stands_alone_nothing)
{
    struct error err;
    struct run_lock l;
    const char *const folders[] = {"run", "run/step-000003", "alone"};
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(mkdir(scratch_path("%s", folders[i]), 0777), 0);
    for (size_t i = 1; i < 3; i++) {
        scratch_write(scratch_path("%s/config.json", folders[i]), "{}", 2);
        scratch_write(scratch_path("%s/model.safetensors", folders[i]), "x", 1);
        scratch_write(scratch_path("%s/trainer_state.json", folders[i]), "x", 1);
    }
    cr_assert_eq(symlink("step-000003", scratch_path("run/latest")), 0);
    const struct holder h = hold(scratch_path("run"));
    const char *const locked[] = {"run", "run/latest", "run/step-000003", "run/step-000003/"};
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(run_lock_resumed(&l, scratch_path("%s", locked[i]), &err), STATUS_OPEN, "%s", locked[i]);
    cr_assert_eq(run_lock_resumed(&l, scratch_path("alone"), &err), STATUS_OK, "%s", err.message);
    cr_assert_null(l.path);
    end(&h, 0);
    cr_assert_eq(run_lock_resumed(&l, scratch_path("run/latest"), &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(l.path, scratch_path("run/" FILE_NAME));
    run_lock_release(&l);
}

Test(run_lock, a_reader_sees_whether_somebody_trains)
{
    const char *dir = scratch_folder();
    cr_assert_not(run_lock_held(dir));
    const struct holder h = hold(dir);
    cr_assert(run_lock_held(dir));
    end(&h, SIGKILL);
    cr_assert(scratch_exists(scratch_path(FILE_NAME)), "a killed process leaves its file");
    cr_assert_not(run_lock_held(dir));
    cr_assert_not(run_lock_held(scratch_path("nowhere")));
}
