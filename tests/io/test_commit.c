#include "io/commit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/scratch.h"

TestSuite(commit, .init = scratch_make, .fini = scratch_remove);

static void expect_text(const char *path, const char *text)
{
    char *found = scratch_read(path, NULL);
    cr_assert_str_eq(found, text, "%s", path);
    free(found);
}

/* The status, and a message of one line that names what is in `part`. */
static void expect_failure(enum status found, enum status expected, const struct error *err, const char *part)
{
    cr_assert_eq(found, expected, "status %d", (int)found);
    cr_assert_not_null(strstr(err->message, part), "'%s' lacks '%s'", err->message, part);
    cr_assert_null(strchr(err->message, '\n'));
}

static pid_t process_that_is_gone(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    cr_assert_gt(pid, 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    return pid;
}

Test(commit, file_holds_exactly_the_bytes_and_nothing_is_left_beside_it)
{
    struct error err;
    const size_t sizes[] = {0, 1, 4096, 3000017};
    char *bytes = malloc(3000017);
    for (size_t i = 0; i < 3000017; i++)
        bytes[i] = (char)(i * 31 >> 3);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        cr_assert_eq(commit_file(scratch_path("a file"), bytes, sizes[k], &err), STATUS_OK, "%s", err.message);
        size_t n;
        char *found = scratch_read(scratch_path("a file"), &n);
        cr_assert_eq(n, sizes[k]);
        cr_assert_eq(memcmp(found, bytes, n), 0);
        free(found);
        cr_assert_eq(scratch_count(scratch_folder()), 1);
    }
    free(bytes);
}

Test(commit, file_in_the_working_folder_needs_no_folder_in_its_path)
{
    struct error err;
    cr_assert_eq(chdir(scratch_folder()), 0);
    cr_assert_eq(commit_file("plain", "x", 1, &err), STATUS_OK, "%s", err.message);
    expect_text("plain", "x");
    cr_assert_eq(chdir("/"), 0);
}

Test(commit, replaced_file_keeps_its_permissions)
{
    struct error err;
    struct stat st;
    scratch_write(scratch_path("f"), "old", 3);
    cr_assert_eq(chmod(scratch_path("f"), 0640), 0);
    cr_assert_eq(commit_file(scratch_path("f"), "new", 3, &err), STATUS_OK, "%s", err.message);
    expect_text(scratch_path("f"), "new");
    cr_assert_eq(stat(scratch_path("f"), &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0640);
}

Test(commit, read_only_file_is_not_replaced)
{
    struct error err;
    scratch_write(scratch_path("f"), "old", 3);
    cr_assert_eq(chmod(scratch_path("f"), 0444), 0);
    cr_assert_eq(chmod(scratch_folder(), 0777), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        /* Permissions do not bind the superuser, who becomes somebody else. */
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(2);
        const enum status s = commit_file(scratch_path("f"), "new", 3, &err);
        _exit(s == STATUS_WRITE && strstr(err.message, "denied") ? 0 : 1);
    }
    int how;
    cr_assert_eq(waitpid(pid, &how, 0), pid);
    cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0, "status %d", how);
    expect_text(scratch_path("f"), "old");
}

Test(commit, file_behind_links_is_replaced_and_the_links_stay)
{
    struct error err;
    char target[64];
    cr_assert_eq(mkdir(scratch_path("sub"), 0777), 0);
    scratch_write(scratch_path("sub/real"), "old", 3);
    cr_assert_eq(symlink("sub/middle", scratch_path("link")), 0);
    cr_assert_eq(symlink("real", scratch_path("sub/middle")), 0);
    cr_assert_eq(symlink("sub/fresh", scratch_path("dangling")), 0);
    cr_assert_eq(commit_file(scratch_path("link"), "new", 3, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(commit_file(scratch_path("dangling"), "fresh", 5, &err), STATUS_OK, "%s", err.message);
    expect_text(scratch_path("sub/real"), "new");
    expect_text(scratch_path("sub/fresh"), "fresh");
    cr_assert_eq(readlink(scratch_path("link"), target, sizeof target), (ssize_t)strlen("sub/middle"));
    cr_assert_eq(symlink("round", scratch_path("round")), 0);
    expect_failure(commit_file(scratch_path("round"), "x", 1, &err), STATUS_WRITE, &err, "links");
}

Test(commit, pipe_is_written_to_and_not_replaced)
{
    struct error err;
    struct stat st;
    char found[8] = {0};
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0666), 0);
    const int reader = open(scratch_path("pipe"), O_RDONLY | O_NONBLOCK);
    cr_assert_geq(reader, 0);
    cr_assert_eq(commit_file(scratch_path("pipe"), "words", 5, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(read(reader, found, sizeof found), 5);
    cr_assert_str_eq(found, "words");
    close(reader);
    cr_assert_eq(lstat(scratch_path("pipe"), &st), 0);
    cr_assert(S_ISFIFO(st.st_mode));
}

#ifdef __linux__ /* the only system with a /dev/full */
Test(commit, full_disk_is_reported_with_what_was_written)
{
    struct error err;
    expect_failure(commit_file("/dev/full", "bytes", 5, &err), STATUS_WRITE, &err, "/dev/full: 0 of 5 bytes written");
}
#endif

/* A file may grow to 1000 bytes only: writes come up short, then fail, as on a disk that fills up. */
static void limit_file_size(void)
{
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(commit, failed_replacement_leaves_the_old_file)
{
    struct error err;
    char bytes[1500];
    memset(bytes, 'b', sizeof bytes);
    scratch_write(scratch_path("f"), "old", 3);
    limit_file_size();
    expect_failure(commit_file(scratch_path("f"), bytes, sizeof bytes, &err), STATUS_WRITE, &err,
                   "1000 of 1500 bytes written");
    expect_text(scratch_path("f"), "old");
    cr_assert_eq(scratch_count(scratch_folder()), 1);
}

Test(commit, failed_folder_leaves_the_old_folder_and_no_temporary)
{
    struct error err;
    struct commit c;
    char bytes[1500];
    memset(bytes, 'b', sizeof bytes);
    cr_assert_eq(mkdir(scratch_path("step"), 0777), 0);
    limit_file_size();
    cr_assert_eq(commit_begin(&c, scratch_folder(), "step", &err), STATUS_OK);
    cr_assert_eq(commit_write(&c, "small", bytes, 10, &err), STATUS_OK);
    expect_failure(commit_write(&c, "large", bytes, sizeof bytes, &err), STATUS_WRITE, &err, "large");
    commit_abort(&c);
    commit_abort(&c);
    cr_assert(scratch_exists(scratch_path("step")));
    cr_assert_eq(scratch_count(scratch_folder()), 1);
}

Test(commit, folder_is_not_there_until_it_is_whole)
{
    struct error err;
    struct commit c;
    cr_assert_eq(commit_begin(&c, scratch_folder(), "step-000010", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(commit_write(&c, "a", "one", 3, &err), STATUS_OK);
    cr_assert_eq(commit_write(&c, "b", "", 0, &err), STATUS_OK);
    cr_assert_not(scratch_exists(scratch_path("step-000010")));
    cr_assert_eq(commit_finish(&c, &err), STATUS_OK, "%s", err.message);
    cr_assert_null(c.final_path);
    cr_assert_null(c.work_path);
    expect_text(scratch_path("step-000010/a"), "one");
    expect_text(scratch_path("step-000010/b"), "");
    cr_assert_eq(scratch_count(scratch_folder()), 1);
}

static void make_folder(const char *name, const char *text)
{
    struct error err;
    struct commit c;
    cr_assert_eq(commit_begin(&c, scratch_folder(), name, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(commit_write(&c, "text", text, strlen(text), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(commit_finish(&c, &err), STATUS_OK, "%s", err.message);
}

Test(commit, folder_that_is_there_is_moved_aside_and_never_lost)
{
    make_folder("step", "first");
    make_folder("step", "second");
    make_folder("step", "third");
    expect_text(scratch_path("step/text"), "third");
    expect_text(scratch_path("step.old/text"), "first");
    expect_text(scratch_path("step.old-2/text"), "second");
    cr_assert_eq(scratch_count(scratch_folder()), 3);
}

Test(commit, only_leftovers_of_the_dead_are_removed)
{
    struct error err;
    struct commit c;
    const long gone = process_that_is_gone(), alive = getppid(), own = getpid();
    const char *const stay[] = {
        scratch_path(".step-000020.tmp-%ld", alive), scratch_path(".other.tmp-%ld", gone),
        scratch_path(".step-000020.tmp-"),           scratch_path(".step-000020.tmp-%ldx", gone),
        scratch_path("step-000020.tmp-%ld", gone),   scratch_path(".step.tmp-%ld", gone),
    };
    const char *const go[] = {
        scratch_path(".step-000020.tmp-%ld", gone),
        scratch_path(".step-7.old.tmp-%ld", gone),
        scratch_path(".step-000010.tmp-%ld", own),
        scratch_path(".step-000010.tmp-99999999999999999999"),
    };
    for (size_t i = 0; i < 6; i++)
        scratch_write(stay[i], "x", 1);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(mkdir(go[i], 0777), 0);
    scratch_write(scratch_path(".step-000020.tmp-%ld/half", gone), "x", 1);
    scratch_write(scratch_path(".step-000010.tmp-%ld/half", own), "x", 1);
    cr_assert_eq(commit_begin(&c, scratch_folder(), "step-000010", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(scratch_count(c.work_path), 0);
    commit_abort(&c);
    cr_assert_eq(scratch_count(scratch_folder()), 6);
}

/* Commits folder after folder until it is killed; the two files of each hold the same number. */
static void commit_until_killed(void)
{
    struct error err;
    struct commit c;
    char name[32], text[32];
    for (int i = 0;; i++) {
        snprintf(name, sizeof name, "step-%06d", i % 3);
        snprintf(text, sizeof text, "%d", i);
        if (commit_begin(&c, scratch_folder(), name, &err) != STATUS_OK ||
            commit_write(&c, "first", text, strlen(text), &err) != STATUS_OK ||
            commit_write(&c, "second", text, strlen(text), &err) != STATUS_OK || commit_finish(&c, &err) != STATUS_OK ||
            commit_link(scratch_folder(), "latest", name, &err) != STATUS_OK)
            _exit(1);
        commit_remove_folder(scratch_path("%s.old", name), &err);
    }
}

Test(commit, killed_at_any_moment_every_folder_is_whole)
{
    struct error err;
    size_t seen = 0;
    for (long trial = 0; trial < 100; trial++) {
        const pid_t pid = fork();
        if (pid == 0)
            commit_until_killed();
        cr_assert_gt(pid, 0);
        /* The first trial waits for a whole folder, however slow the machine. */
        const struct timespec pause = {.tv_nsec = trial == 0 ? 1000000 : (trial * 7919 % 97) * 100000};
        for (int i = 0; i < (trial == 0 ? 60000 : 1) && !(trial == 0 && scratch_exists(scratch_path("latest"))); i++)
            nanosleep(&pause, NULL);
        int how;
        cr_assert_eq(kill(pid, SIGKILL), 0);
        cr_assert_eq(waitpid(pid, &how, 0), pid);
        cr_assert(WIFSIGNALED(how), "trial %ld: the writer failed by itself", trial);
        for (int i = 0; i < 3; i++) {
            if (!scratch_exists(scratch_path("step-%06d", i)))
                continue;
            char *first = scratch_read(scratch_path("step-%06d/first", i), NULL);
            char *second = scratch_read(scratch_path("step-%06d/second", i), NULL);
            cr_assert_str_eq(first, second, "trial %ld", trial);
            cr_assert_gt(strlen(first), 0);
            free(first);
            free(second);
            seen++;
        }
    }
    cr_assert_gt(seen, 0);
    struct commit c;
    cr_assert_eq(commit_begin(&c, scratch_folder(), "step-000009", &err), STATUS_OK);
    commit_abort(&c);
    cr_assert_eq(commit_link(scratch_folder(), "latest", "x", &err), STATUS_OK);
    DIR *d = opendir(scratch_folder());
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        cr_assert_null(strstr(e->d_name, ".tmp-"), "%s remains", e->d_name);
    closedir(d);
}

Test(commit, bad_places_are_named)
{
    struct error err;
    struct commit c;
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    expect_failure(commit_begin(&c, scratch_path("missing"), "step", &err), STATUS_WRITE, &err, "missing");
    cr_assert_null(c.work_path);
    expect_failure(commit_begin(&c, scratch_folder(), name, &err), STATUS_WRITE, &err, "too long");
    expect_failure(commit_file(scratch_path("missing/f"), "x", 1, &err), STATUS_WRITE, &err, "missing");
    expect_failure(commit_file(scratch_folder(), "x", 1, &err), STATUS_WRITE, &err, "folder");
    expect_failure(commit_file(scratch_path("%s", name), "x", 1, &err), STATUS_WRITE, &err, "too long");
    expect_failure(commit_link(scratch_path("missing"), "l", "x", &err), STATUS_WRITE, &err, "missing");
    cr_assert_eq(scratch_count(scratch_folder()), 0);
}

Test(commit, link_replaces_links_and_files_but_no_folder)
{
    struct error err;
    char target[64] = {0};
    cr_assert_eq(commit_link(scratch_folder(), "latest", "step-1", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(commit_link(scratch_folder(), "latest", "step-2", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(readlink(scratch_path("latest"), target, sizeof target), 6);
    cr_assert_str_eq(target, "step-2");
    scratch_write(scratch_path("file"), "x", 1);
    cr_assert_eq(commit_link(scratch_folder(), "file", "step-2", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(mkdir(scratch_path("folder"), 0777), 0);
    expect_failure(commit_link(scratch_folder(), "folder", "step-2", &err), STATUS_WRITE, &err, "folder");
    cr_assert_eq(scratch_count(scratch_folder()), 3);
}

Test(commit, removal_stays_inside_one_folder_of_files)
{
    struct error err;
    make_folder("step", "x");
    cr_assert_eq(commit_remove_folder(scratch_path("step/"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(commit_remove_folder(scratch_path("step"), &err), STATUS_OK, "missing is fine");
    cr_assert_eq(scratch_count(scratch_folder()), 0);

    make_folder("precious", "x");
    cr_assert_eq(symlink("precious", scratch_path("link")), 0);
    expect_failure(commit_remove_folder(scratch_path("link"), &err), STATUS_WRITE, &err, "link");
    cr_assert_eq(mkdir(scratch_path("precious/inner"), 0777), 0);
    expect_failure(commit_remove_folder(scratch_path("precious"), &err), STATUS_WRITE, &err, "inner");
    expect_text(scratch_path("precious/text"), "x");
}

Test(commit, moving_aside_says_where_to)
{
    struct error err;
    char *aside;
    cr_assert_eq(commit_move_aside(scratch_path("step"), &aside, &err), STATUS_OK);
    cr_assert_null(aside);
    make_folder("step", "x");
    cr_assert_eq(symlink("nowhere", scratch_path("step.old")), 0);
    cr_assert_eq(commit_move_aside(scratch_path("step"), &aside, &err), STATUS_OK);
    cr_assert_str_eq(aside, scratch_path("step.old-2"));
    free(aside);
    cr_assert_eq(commit_move_aside(scratch_path("step"), NULL, &err), STATUS_OK);
}

Test(commit, join_puts_one_slash)
{
    char *a = commit_join("d", "n"), *b = commit_join("d/", "n"), *c = commit_join("/", "n");
    cr_assert_str_eq(a, "d/n");
    cr_assert_str_eq(b, "d/n");
    cr_assert_str_eq(c, "/n");
    free(a);
    free(b);
    free(c);
}

Test(commit, split_undoes_join)
{
    const char *const cases[][3] = {{"d/n", "d", "n"}, {"d//n//", "d", "n"},    {"n", ".", "n"},
                                    {"/n", "/", "n"},  {"/d/e/n", "/d/e", "n"}, {"./n/", ".", "n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *dir, *name;
        cr_assert(commit_split(&dir, &name, cases[i][0]));
        cr_assert_str_eq(dir, cases[i][1], "%s", cases[i][0]);
        cr_assert_str_eq(name, cases[i][2], "%s", cases[i][0]);
        free(dir);
        free(name);
    }
}
