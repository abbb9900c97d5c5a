#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SLICE 0.1   /* seconds between two looks at `interrupted` */
#define PATIENCE 10 /* seconds for a program that has closed its pipes to end */
#define READ_SIZE ((size_t)1 << 16)

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Three pipes: pipes[k] becomes the program's file descriptor k. No other program that is started inherits them. */
static bool open_pipes(int pipes[3][2])
{
    for (int k = 0; k < 3; k++) {
        if (pipe(pipes[k]) != 0)
            return false;
        for (int end = 0; end < 2; end++)
            if (fcntl(pipes[k][end], F_SETFD, FD_CLOEXEC) == -1)
                return false;
        if (fcntl(pipes[k][k == 0], F_SETFL, O_NONBLOCK) == -1)
            return false;
    }
    return true;
}

static int spawn(pid_t *pid, const char *command, char *const *environment, int pipes[3][2])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    sigset_t restored;
    sigemptyset(&restored);
    sigaddset(&restored, SIGPIPE);
    sigaddset(&restored, SIGXFSZ);
    for (int k = 0; k < 3 && !failed; k++)
        failed = posix_spawn_file_actions_adddup2(&actions, pipes[k][k != 0], k);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(&attributes, &restored);
    if (!failed)
        failed = posix_spawnattr_setpgroup(&attributes, 0);
    if (!failed)
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    char *const words[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
    if (!failed)
        failed = posix_spawn(pid, "/bin/sh", &actions, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

enum status child_start(struct child *c, const char *command, char *const *environment, struct error *err)
{
    *c = (struct child){.timeout = 60, .longest_line = CHILD_LONGEST_LINE, .to = -1, .from = -1, .complaints = -1};
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t pid = 0;
    const int failed = open_pipes(pipes) ? spawn(&pid, command, environment, pipes) : errno;
    for (int k = 0; k < 3; k++)
        close_end(&pipes[k][k != 0]);
    if (failed) {
        for (int k = 0; k < 3; k++)
            close_end(&pipes[k][k == 0]);
        return fail(err, STATUS_OPEN, "the program could not be started: %s", strerror(failed));
    }
    c->pid = pid;
    c->to = pipes[0][1];
    c->from = pipes[1][0];
    c->complaints = pipes[2][0];
    return STATUS_OK;
}

/* Keeps the end of what it says. */
static void hear(struct child *c)
{
    char text[1024];
    ssize_t n;
    while (c->complaints >= 0 && (n = read(c->complaints, text, sizeof text)) != 0) {
        if (n < 0) {
            if (errno == EINTR)
                continue;
            if (errno != EAGAIN)
                close_end(&c->complaints);
            return;
        }
        const size_t more = (size_t)n, limit = sizeof c->said;
        if (c->said_used + more > limit) {
            const size_t drop = c->said_used + more - limit;
            memmove(c->said, c->said + drop, c->said_used - drop);
            c->said_used -= drop;
        }
        memcpy(c->said + c->said_used, text, more);
        c->said_used += more;
    }
    close_end(&c->complaints);
}

/* Adds the last line of its standard error to a message. */
static enum status quoting(const struct child *c, enum status s, struct error *err)
{
    size_t end = c->said_used;
    while (end > 0 && (c->said[end - 1] == '\n' || c->said[end - 1] == '\r' || c->said[end - 1] == ' '))
        end--;
    size_t begin = end;
    while (begin > 0 && c->said[begin - 1] != '\n' && c->said[begin - 1] != '\r')
        begin--;
    if (begin == end)
        return s;
    char line[300];
    const size_t n = end - begin < sizeof line - 1 ? end - begin : sizeof line - 1;
    for (size_t i = 0; i < n; i++) {
        const unsigned char b = (unsigned char)c->said[begin + i];
        line[i] = b < ' ' || b == 127 ? ' ' : (char)b;
    }
    line[n] = '\0';
    const size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, "; the last line of its standard error: %s", line);
    return s;
}

/* Whether it has ended, waiting up to `seconds` for that. It is left to be reaped, so that the number of its group
 * cannot go to another. */
static bool has_ended(const struct child *c, siginfo_t *info, double seconds)
{
    const double deadline = clock_seconds() + seconds;
    const struct timespec pause = {.tv_nsec = 2000000};
    for (;;) {
        info->si_pid = 0;
        if (waitid(P_PID, (id_t)c->pid, info, WEXITED | WNOHANG | WNOWAIT) == 0 && info->si_pid == c->pid)
            return true;
        if (clock_seconds() >= deadline)
            return false;
        nanosleep(&pause, NULL);
    }
}

/* Its output, or its input, is closed: says what has become of it. */
static enum status gone(struct child *c, const char *what, struct error *err)
{
    char when[96];
    if (c->used > 0)
        snprintf(when, sizeof when, "in the middle of an answer, after %zu bytes of it", c->used);
    else
        snprintf(when, sizeof when, "without an answer");
    siginfo_t info;
    bool ended = false; /* a Python with PyTorch in it takes seconds to end */
    for (int k = 0; k < PATIENCE && !ended; k++) {
        ended = has_ended(c, &info, 1);
        if (!ended && c->interrupted && c->interrupted())
            return fail(err, STATUS_INTERRUPTED, "interrupted");
    }
    hear(c);
    if (!ended)
        fail(err, STATUS_READ, "the program closed its standard %s %s, and runs on", what, when);
    else if (info.si_code != CLD_EXITED)
        fail(err, STATUS_READ, "the program was ended by signal %d (%s) %s", info.si_status, strsignal(info.si_status),
             when);
    else if (info.si_status == 127 || info.si_status == 126)
        fail(err, STATUS_READ, "the command could not be run (the shell's status %d)", info.si_status);
    else if (info.si_status > 128 && info.si_status <= 128 + 64)
        fail(err, STATUS_READ, "the program was ended by signal %d (%s) %s", info.si_status - 128,
             strsignal(info.si_status - 128), when);
    else
        fail(err, STATUS_READ, "the program exited with status %d %s", info.si_status, when);
    return quoting(c, STATUS_READ, err);
}

/* Reads what is there. *line is set when a whole line is held, from bytes on that were not looked at before. */
static enum status take(struct child *c, bool *line, struct error *err)
{
    if (c->room - c->used < READ_SIZE + 1) {
        const size_t room = c->room ? 2 * c->room : 2 * READ_SIZE;
        char *const more = c->room <= 2 * c->longest_line + READ_SIZE ? realloc(c->buffer, room) : NULL;
        if (!more)
            return fail(err, STATUS_MEMORY, "out of memory for an answer of more than %zu bytes", c->used);
        c->buffer = more;
        c->room = room;
    }
    const ssize_t n = read(c->from, c->buffer + c->used, READ_SIZE);
    if (n == 0)
        return gone(c, "output", err);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN
                   ? STATUS_OK
                   : fail(err, STATUS_READ, "the program's output cannot be read: %s", strerror(errno));
    const char *const end = memchr(c->buffer + c->used, '\n', (size_t)n);
    c->used += (size_t)n;
    *line = end != NULL;
    c->answered = end ? (size_t)(end - c->buffer) + 1 : 0;
    if ((end ? c->answered : c->used) > c->longest_line)
        return fail(err, STATUS_READ,
                    "the program wrote a line of more than %zu bytes: answer only the \"rows\" that are asked for",
                    c->longest_line);
    return STATUS_OK;
}

static enum status give(struct child *c, const char *question, size_t n, size_t *sent, struct error *err)
{
    const ssize_t written = write(c->to, question + *sent, n - *sent);
    if (written >= 0)
        *sent += (size_t)written;
    else if (errno != EINTR && errno != EAGAIN)
        return errno == EPIPE ? gone(c, "input", err)
                              : fail(err, STATUS_WRITE, "the program cannot be written to: %s", strerror(errno));
    return STATUS_OK;
}

/* One wait, and whatever it brings. */
static enum status exchange(struct child *c, const char *question, size_t n, size_t *sent, bool *line, double seconds,
                            struct error *err)
{
    /* a negative descriptor is passed over */
    struct pollfd ends[] = {{.fd = c->from, .events = POLLIN},
                            {.fd = *sent < n ? c->to : -1, .events = POLLOUT},
                            {.fd = c->complaints, .events = POLLIN}};
    if (poll(ends, 3, (int)(1000 * seconds) + 1) < 0)
        return errno == EINTR ? STATUS_OK : fail(err, STATUS_READ, "poll: %s", strerror(errno));
    if (ends[2].revents)
        hear(c);
    enum status s = STATUS_OK;
    if (ends[0].revents)
        s = take(c, line, err);
    if (s == STATUS_OK && ends[1].revents && !*line)
        s = give(c, question, n, sent, err);
    return s;
}

enum status child_ask(struct child *c, const char *question, size_t n, char **answer, size_t *length, struct error *err)
{
    c->used -= c->answered;
    if (c->used > 0)
        return fail(err, STATUS_READ,
                    "the program wrote more than one line for one question: send whatever else it prints to standard "
                    "error");
    c->answered = 0;
    size_t sent = 0;
    bool line = false;
    const double deadline = clock_seconds() + c->timeout;
    while (!line) {
        const double left = deadline - clock_seconds();
        if (c->interrupted && c->interrupted())
            return fail(err, STATUS_INTERRUPTED, "interrupted");
        if (left <= 0) {
            siginfo_t info;
            if (has_ended(c, &info, 0)) /* and what it has started keeps its pipes open */
                return gone(c, "output", err);
            hear(c);
            fail(err, STATUS_READ, "the program has not answered within %g s%s", c->timeout,
                 sent < n      ? ": it does not read its standard input"
                 : c->used > 0 ? ": its answer has no end of line yet"
                               : ": it is too slow, waits for more, or keeps its answer in a buffer (flush each line)");
            return quoting(c, STATUS_READ, err);
        }
        const enum status s = exchange(c, question, n, &sent, &line, left < SLICE ? left : SLICE, err);
        if (s != STATUS_OK)
            return s;
    }
    if (sent < n)
        return fail(err, STATUS_READ, "the program wrote a line before it had read the question");
    *answer = c->buffer;
    *length = c->answered - 1;
    c->buffer[*length] = '\0';
    return STATUS_OK;
}

void child_stop(struct child *c, double grace)
{
    if (c->pid == 0)
        return;
    close_end(&c->to);
    siginfo_t info;
    (void)has_ended(c, &info, grace);
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close_end(&c->from);
    close_end(&c->complaints);
    free(c->buffer);
    *c = (struct child){.to = -1, .from = -1, .complaints = -1};
}
