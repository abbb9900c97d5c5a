#include "text/source.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/textfile.h"

static struct textfile_folder folder;

static void begin(void)
{
    textfile_begin(&folder);
}

static void end(void)
{
    textfile_end(&folder);
}

TestSuite(source, .init = begin, .fini = end);

/* Goes through the source window by window and requires just these bytes. */
static void expect_content(struct source *s, const uint8_t *want, size_t n)
{
    struct error err;
    cr_assert_eq(s->size, n);
    for (size_t at = 0; at < n;) {
        const uint8_t *bytes;
        size_t got;
        cr_assert_eq(source_window(s, &bytes, &got, at, &err), STATUS_OK, "%s", err.message);
        cr_assert(got > 3 || at + got == n);
        cr_assert(got <= n - at);
        cr_assert_eq(memcmp(bytes, want + at, got), 0);
        at += at + got == n ? got : got - 3; /* windows may begin anywhere */
    }
    source_rest(s);
}

static uint8_t *pattern(size_t n)
{
    uint8_t *bytes = malloc(n > 0 ? n : 1);
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    return bytes;
}

static void open_well(struct source *s, const char *path)
{
    struct error err;
    cr_assert_eq(source_open(s, path, &err), STATUS_OK, "%s", err.message);
}

Test(source, a_file_is_mapped_in_windows_and_read_twice)
{
    const size_t sizes[] = {1, 3, 4096, SOURCE_WINDOW - 1, SOURCE_WINDOW, SOURCE_WINDOW + 1, 2 * SOURCE_WINDOW + 5};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        uint8_t *want = pattern(sizes[k]);
        char path[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "a", want, sizes[k]);
        struct source s;
        open_well(&s, path);
        cr_assert_null(s.buffer);
        cr_assert_eq(s.fd, -1, "a source at rest holds no file open");
        expect_content(&s, want, sizes[k]);
        cr_assert_null(s.map);
        expect_content(&s, want, sizes[k]);
        source_close(&s);
        free(want);
    }
}

Test(source, more_files_than_may_be_open_at_once)
{
    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "a", "text", 4);
    const size_t n = 3000;
    struct source *all = calloc(n, sizeof *all);
    for (size_t k = 0; k < n; k++)
        open_well(&all[k], path);
    for (size_t k = 0; k < n; k++) {
        expect_content(&all[k], (const uint8_t *)"text", 4);
        source_close(&all[k]);
    }
    free(all);
}

/* Writes bytes to path from another process, as a program at the other end of a FIFO does. */
static pid_t writer(const char *path, int fd, const uint8_t *bytes, size_t n)
{
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child != 0)
        return child;
    if (path)
        fd = open(path, O_WRONLY);
    while (n > 0) {
        const ssize_t put = write(fd, bytes, n < 1000 ? n : 1000);
        if (put <= 0)
            _exit(1);
        bytes += put;
        n -= (size_t)put;
    }
    _exit(0);
}

static void join(pid_t child)
{
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

Test(source, a_fifo_is_read_whole)
{
    const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000003};
    char path[TEXTFILE_PATH_SIZE];
    textfile_path(path, &folder, "fifo");
    cr_assert_eq(mkfifo(path, 0600), 0);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        uint8_t *want = pattern(sizes[k]);
        const pid_t child = writer(path, -1, want, sizes[k]);
        struct source s;
        open_well(&s, path);
        expect_content(&s, want, sizes[k]);
        expect_content(&s, want, sizes[k]);
        source_close(&s);
        join(child);
        free(want);
    }
}

Test(source, standard_input_as_a_pipe_and_as_a_file_that_is_half_read)
{
    uint8_t *want = pattern(200000);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = writer(NULL, ends[1], want, 200000);
    close(ends[1]);
    cr_assert(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    struct source s;
    open_well(&s, "-");
    cr_assert_str_eq(s.name, "standard input");
    expect_content(&s, want, 200000);
    source_close(&s);
    join(child);

    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "a", want, 200000);
    const int fd = open(path, O_RDONLY);
    cr_assert(dup2(fd, STDIN_FILENO) >= 0);
    close(fd);
    cr_assert_eq(lseek(STDIN_FILENO, 5001, SEEK_SET), 5001);
    open_well(&s, "-");
    cr_assert_null(s.buffer);
    expect_content(&s, want + 5001, 200000 - 5001);
    expect_content(&s, want + 5001, 200000 - 5001);
    source_close(&s);
    cr_assert(fcntl(STDIN_FILENO, F_GETFD) >= 0, "standard input is not ours to close");
    free(want);
}

#ifdef __linux__ /* whose /proc has files that say that they are empty */
Test(source, a_file_of_unknown_size_is_read_whole)
{
    static const char path[] = "/proc/self/cmdline";
    struct source s;
    open_well(&s, path);
    cr_assert_not_null(s.buffer);
    cr_assert_gt(s.size, 0u);
    source_close(&s);
}
#endif

static void expect_failure(const char *path, enum status want, const char *words)
{
    struct source s;
    struct error err;
    cr_assert_eq(source_open(&s, path, &err), want);
    cr_assert(strstr(err.message, words), "%s", err.message);
    cr_assert_eq(strncmp(err.message, path, strlen(path)), 0, "%s", err.message);
    cr_assert_null(strchr(err.message, '\n'));
    cr_assert_eq(s.fd, -1);
    cr_assert_null(s.buffer);
}

Test(source, what_cannot_be_read_is_refused_by_name)
{
    char path[TEXTFILE_PATH_SIZE];
    expect_failure(folder.path, STATUS_OPEN, "is a directory");
    textfile_path(path, &folder, "missing");
    expect_failure(path, STATUS_OPEN, "No such file");
    expect_failure("", STATUS_OPEN, "No such file");
    textfile_write(path, &folder, "file", "text", 4);
    char below[TEXTFILE_PATH_SIZE + 8];
    snprintf(below, sizeof below, "%s/x", path);
    expect_failure(below, STATUS_OPEN, "Not a directory");
    textfile_path(path, &folder, "loop");
    cr_assert_eq(symlink("loop", path), 0);
    expect_failure(path, STATUS_OPEN, "cannot be opened");
}

Test(source, an_unreadable_file_is_refused)
{
    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "locked", "text", 4);
    cr_assert_eq(chmod(path, 0), 0);
    cr_assert_eq(chmod(folder.path, 0755), 0);
    if (geteuid() == 0) /* root may read anything: be nobody for a while */
        cr_assert_eq(seteuid(65534), 0);
    expect_failure(path, STATUS_OPEN, "Permission denied");
    if (getuid() == 0)
        cr_assert_eq(seteuid(0), 0);
}

Test(source, a_file_that_changes_between_windows_is_an_error_not_a_crash)
{
    const size_t n = SOURCE_WINDOW + 100;
    uint8_t *want = pattern(n);
    for (int change = 0; change < 4; change++) {
        char path[TEXTFILE_PATH_SIZE], other[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "a", want, n);
        struct source s;
        struct error err;
        open_well(&s, path);
        const uint8_t *bytes;
        size_t got;
        cr_assert_eq(source_window(&s, &bytes, &got, 0, &err), STATUS_OK);
        if (change == 0) {
            cr_assert_eq(truncate(path, 10), 0);
        } else if (change == 1) {
            cr_assert_eq(truncate(path, (off_t)n + 1), 0);
        } else {
            source_rest(&s); /* between two passes */
            textfile_write(other, &folder, "b", want, n);
            cr_assert_eq(change == 2 ? rename(other, path) : unlink(path), 0);
        }
        const enum status status = source_window(&s, &bytes, &got, SOURCE_WINDOW, &err);
        cr_assert_eq(status, change == 3 ? STATUS_OPEN : STATUS_READ);
        cr_assert(strstr(err.message, change == 3 ? "No such file" : "changed while it was being read"), "%s",
                  err.message);
        source_close(&s);
    }
    free(want);
}

Test(source, a_file_beyond_the_limit_is_refused_before_it_is_read)
{
    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "sparse", "", 0);
    cr_assert_eq(truncate(path, (off_t)SOURCE_LIMIT + 1), 0);
    expect_failure(path, STATUS_RANGE, "more than 1099511627776 bytes");
    cr_assert_eq(truncate(path, (off_t)SOURCE_LIMIT), 0);
    struct source s;
    open_well(&s, path);
    source_close(&s);
}
