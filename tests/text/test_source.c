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

/* Goes through the source piece by piece, leaving three bytes of each for the next, and requires just these bytes. */
static void expect_content(struct source *s, const uint8_t *want, size_t n)
{
    struct error err;
    const uint8_t *bytes;
    size_t at = 0, got, used = 0;
    for (;;) {
        cr_assert_eq(source_next(s, &bytes, &got, used, &err), STATUS_OK, "%s", err.message);
        at += used;
        if (got == 0)
            break;
        cr_assert(got >= SOURCE_LEAST || at + got == n);
        cr_assert(got <= n - at && got <= SOURCE_WINDOW);
        cr_assert_eq(memcmp(bytes, want + at, got), 0);
        used = at + got == n ? got : got - 3;
    }
    cr_assert_eq(at, n);
    cr_assert_eq(source_next(s, &bytes, &got, 0, &err), STATUS_OK, "the end stays the end");
    cr_assert_eq(got, 0u);
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

Test(source, a_file_is_read_in_pieces_of_a_bounded_size)
{
    const size_t sizes[] = {
        0, 1, 3, 4, 4096, SOURCE_WINDOW - 1, SOURCE_WINDOW, SOURCE_WINDOW + 1, 3 * SOURCE_WINDOW + 5};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        uint8_t *want = pattern(sizes[k]);
        char path[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "a", want, sizes[k]);
        uint64_t size;
        struct error err;
        cr_assert_eq(source_look(&size, path, &err), STATUS_OK);
        cr_assert_eq(size, sizes[k]);
        struct source s;
        open_well(&s, path);
        expect_content(&s, want, sizes[k]);
        source_close(&s);
        free(want);
    }
}

Test(source, looking_at_files_leaves_none_open)
{
    char path[TEXTFILE_PATH_SIZE];
    textfile_write(path, &folder, "a", "text", 4);
    for (size_t k = 0; k < 3000; k++) {
        uint64_t size;
        struct error err;
        cr_assert_eq(source_look(&size, path, &err), STATUS_OK, "%s", err.message);
    }
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

Test(source, a_fifo_is_read_to_its_end)
{
    const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000003};
    char path[TEXTFILE_PATH_SIZE];
    textfile_path(path, &folder, "fifo");
    cr_assert_eq(mkfifo(path, 0600), 0);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        uint8_t *want = pattern(sizes[k]);
        const pid_t child = writer(path, -1, want, sizes[k]);
        struct source s;
        uint64_t size;
        struct error err;
        cr_assert_eq(source_look(&size, path, &err), STATUS_OK); /* which must not take it from its writer */
        cr_assert_eq(size, 0u);
        open_well(&s, path);
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
    uint64_t size;
    struct error err;
    cr_assert_eq(source_look(&size, "-", &err), STATUS_OK);
    cr_assert_eq(size, 200000u - 5001);
    open_well(&s, "-");
    expect_content(&s, want + 5001, 200000 - 5001);
    source_close(&s);
    cr_assert(fcntl(STDIN_FILENO, F_GETFD) >= 0, "standard input is not ours to close");
    free(want);
}

#ifdef __linux__ /* whose /proc has files that say that they are empty */
Test(source, a_file_that_says_that_it_is_empty_is_read_all_the_same)
{
    static const char path[] = "/proc/self/cmdline";
    struct source s;
    struct error err;
    const uint8_t *bytes;
    size_t n;
    open_well(&s, path);
    cr_assert_eq(source_next(&s, &bytes, &n, 0, &err), STATUS_OK);
    cr_assert_gt(n, 0u);
    source_close(&s);
}
#endif

static void expect_failure(const char *path, enum status want, const char *words)
{
    for (int look = 0; look < 2; look++) {
        struct source s = {.fd = -1};
        struct error err;
        uint64_t size;
        cr_assert_eq(look ? source_look(&size, path, &err) : source_open(&s, path, &err), want);
        cr_assert(strstr(err.message, words), "%s", err.message);
        cr_assert_eq(strncmp(err.message, path, strlen(path)), 0, "%s", err.message);
        cr_assert_null(strchr(err.message, '\n'));
        cr_assert_eq(s.fd, -1);
        cr_assert_null(s.buffer);
    }
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

Test(source, a_file_that_changes_between_two_pieces_is_an_error_not_a_crash)
{
    const size_t n = 2 * SOURCE_WINDOW + 100;
    uint8_t *want = pattern(n);
    for (int change = 0; change < 4; change++) {
        char path[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "a", want, n);
        struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        cr_assert_eq(utimensat(AT_FDCWD, path, old, 0), 0);
        struct source s;
        struct error err;
        open_well(&s, path);
        const uint8_t *bytes;
        size_t got;
        cr_assert_eq(source_next(&s, &bytes, &got, 0, &err), STATUS_OK);
        if (change == 0) {
            cr_assert_eq(truncate(path, 10), 0);
        } else if (change == 1) {
            cr_assert_eq(truncate(path, (off_t)n + 1), 0);
        } else if (change == 2) { /* the same size: other bytes */
            const int fd = open(path, O_WRONLY);
            cr_assert_eq(write(fd, "x", 1), 1);
            close(fd);
        } else { /* another file of that name is none of ours */
            cr_assert_eq(unlink(path), 0);
        }
        enum status status;
        do
            status = source_next(&s, &bytes, &got, got, &err);
        while (status == STATUS_OK && got > 0);
        cr_assert_eq(status, change == 3 ? STATUS_OK : STATUS_READ, "change %d", change);
        if (change < 3)
            cr_assert(strstr(err.message, "changed while it was being read"), "%s", err.message);
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

Test(source, a_device_that_never_ends_is_not_read)
{
    struct source s;
    struct error err;
    const uint8_t *bytes;
    size_t n;
    open_well(&s, "/dev/zero");
    cr_assert_eq(source_next(&s, &bytes, &n, 0, &err), STATUS_OPEN);
    cr_assert(strstr(err.message, "/dev/zero: is a device, which may never end"), "%s", err.message);
    source_close(&s);
    open_well(&s, "/dev/null"); /* this one does */
    cr_assert_eq(source_next(&s, &bytes, &n, 0, &err), STATUS_OK);
    cr_assert_eq(n, 0u);
    source_close(&s);
}
