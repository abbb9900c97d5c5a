#define _XOPEN_SOURCE 700
#include "support/devtools.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/tempdir.h"
#include "support/folder.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#define LAST_WORDS 600 /* bytes of what the browser said, quoted in a failure */

struct devtools {
    char *profile;
    pid_t keeper;
    int lifeline, to, from; /* the browser lives as long as the first one is open */
    json_int_t id;          /* of the last command */
    char *buffer;
    size_t used, room, scanned;
    devtools_listener *listener;
    void *context;
};

static bool in_snap(const char *path)
{
    const size_t n = strlen(path);
    return strstr(path, "/snap/") || (n >= 5 && strcmp(path + n - 5, "/snap") == 0);
}

static const char *on_path(const char *name)
{
    static char found[PATH_MAX];
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        const size_t n = strcspn(at, ":");
        char real[PATH_MAX];
        snprintf(found, sizeof found, "%.*s/%s", (int)n, at, name);
        if (access(found, X_OK) == 0 && realpath(found, real) && !in_snap(found) && !in_snap(real))
            return found;
        at += n + (at[n] == ':');
    }
    return NULL;
}

const char *devtools_program(void)
{
    static const char *const names[] = {"chromium-headless-shell", "chromium", "google-chrome", "google-chrome-stable"};
    const char *chosen = getenv("NOPEEK_BROWSER");
    if (chosen && chosen[0])
        return chosen;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((chosen = on_path(names[i])))
            return chosen;
    return NULL;
}

/* --- the process beside ----------------------------------------------------------------------- */

static void become_browser(const char *program, const char *profile, int in, int out)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "--user-data-dir=%s/profile", profile);
    /* The sandbox does not start for root, nor in many containers; what is opened here are pages that we wrote. */
    const char *words[] = {program,
                           folder,
                           "--headless",
                           "--no-sandbox",
                           "--remote-debugging-pipe",
                           "--disable-gpu",
                           "--disable-dev-shm-usage",
                           "--no-first-run",
                           "--no-default-browser-check",
                           "--disable-breakpad",
                           "--disable-crash-reporter",
                           "--disable-background-networking",
                           "--disable-component-update",
                           "--disable-sync",
                           "--disable-extensions",
                           "--host-resolver-rules=MAP * ~NOTFOUND",
                           "--proxy-server=127.0.0.1:9",
                           "--password-store=basic",
                           "--use-mock-keychain",
                           "--force-color-profile=srgb",
                           "--hide-scrollbars",
                           "--mute-audio",
                           "about:blank",
                           NULL};
    setenv("HOME", profile, 1);
    setenv("TMPDIR", profile, 1); /* what a killed browser leaves goes with its profile */
    dup2(in, 3);
    dup2(out, 4);
    fcntl(3, F_SETFD, 0);
    fcntl(4, F_SETFD, 0);
    execv(program, (char *const *)words);
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    _exit(127);
}

/* Whether there are children still, dead ones aside. */
static bool reap(void)
{
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return ended == 0;
}

/* Starts the browser, and ends it when there is word on `lifeline` or its other end closes, be it that the test has
 * died. */
static void keep(const char *program, const char *profile, int lifeline, int in, int out)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    char said[PATH_MAX];
    snprintf(said, sizeof said, "%s/said", profile);
    const int log = open(said, O_WRONLY | O_CREAT | O_APPEND, 0600), nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    for (int fd = 3; fd < 256; fd++) /* the runner's own pipes too: it must not wait for us */
        if (fd != lifeline && fd != in && fd != out)
            close(fd);
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    const pid_t browser = fork();
    setpgid(browser, browser);
    if (browser == 0)
        become_browser(program, profile, in, out);
    close(in);
    close(out);
    struct pollfd end = {.fd = lifeline, .events = POLLIN};
    while (poll(&end, 1, DEVTOOLS_LIFE * 1000) < 0 && errno == EINTR)
        ;
    kill(-browser, SIGKILL);
    for (int i = 0; i < 1000 && reap(); i++)
        nanosleep(&moment, NULL);
    /* Where its children were not handed over to us, they may be dying still, and write. */
    for (int i = 0; i < 500 && access(profile, F_OK) == 0; i++) {
        tempdir_remove(profile);
        nanosleep(&moment, NULL);
    }
    _exit(0);
}

static int high(int fd) /* out of the way of the browser's 3 and 4 */
{
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    cr_assert_geq(moved, 0, "%s", strerror(errno));
    close(fd);
    return moved;
}

struct devtools *devtools_start(const char *program, devtools_listener *listener, void *context)
{
    struct devtools *d = calloc(1, sizeof *d);
    struct error err;
    const char *temporary = getenv("TMPDIR");
    int life[2], to[2], from[2];
    cr_assert_not_null(d);
    d->listener = listener;
    d->context = context;
    cr_assert_eq(tempdir_make(&d->profile, temporary && temporary[0] ? temporary : "/tmp", &err), STATUS_OK, "%s",
                 err.message);
    /* Sockets, since writing to one whose other end has gone can be told not to raise a signal. */
    cr_assert(socketpair(AF_UNIX, SOCK_STREAM, 0, life) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, to) == 0 &&
              pipe(from) == 0);
    for (int i = 0; i < 2; i++) {
        life[i] = high(life[i]);
        to[i] = high(to[i]);
        from[i] = high(from[i]);
    }
    fflush(NULL);
    d->keeper = fork();
    cr_assert_geq(d->keeper, 0);
    setpgid(d->keeper, d->keeper); /* Ctrl-C is for the tests, whose end it notices */
    if (d->keeper == 0)
        keep(program, d->profile, life[0], to[0], from[1]);
    close(life[0]);
    close(to[0]);
    close(from[1]);
    d->lifeline = life[1];
    d->to = to[1];
    d->from = from[0];
    return d;
}

void devtools_stop(struct devtools *d)
{
    if (!d)
        return;
    /* A word, since a process that the test forked may hold the lifeline open too. */
    const bool told = send(d->lifeline, "", 1, MSG_NOSIGNAL) == 1;
    close(d->lifeline);
    cr_expect(told, "the keeper of the browser is there");
    close(d->to);
    close(d->from);
    while (waitpid(d->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    free(d->profile);
    free(d->buffer);
    free(d);
}

/* --- messages --------------------------------------------------------------------------------- */

static void give_up(struct devtools *d, const char *method, const char *why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/said", d->profile);
    size_t n = 0;
    char *said = folder_read(path, &n);
    cr_assert_fail("browser, at %s: %s; it said: %s", method, why,
                   !said            ? "nothing"
                   : n > LAST_WORDS ? said + n - LAST_WORDS
                                    : said);
}

static json_int_t send_command(struct devtools *d, const char *session, const char *method, json_t *params)
{
    json_t *o =
        json_pack("{sI, ss, ss*, so*}", "id", ++d->id, "method", method, "sessionId", session, "params", params);
    char *text = json_dumps(o, JSON_COMPACT);
    cr_assert_not_null(text, "%s", method);
    const size_t size = strlen(text) + 1;
    for (size_t done = 0; done < size;) {
        const ssize_t n = send(d->to, text + done, size - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            give_up(d, method, strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    free(text);
    json_decref(o);
    return d->id;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_more(struct devtools *d, const char *method, double deadline)
{
    struct pollfd p = {.fd = d->from, .events = POLLIN};
    const double left = deadline - now();
    const int ready = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
    if (ready < 0 && errno == EINTR)
        return;
    if (ready <= 0)
        give_up(d, method, "no answer in time");
    if (d->room - d->used < 65536) {
        d->room = 2 * d->room + 131072;
        d->buffer = realloc(d->buffer, d->room);
        cr_assert_not_null(d->buffer);
    }
    const ssize_t n = read(d->from, d->buffer + d->used, d->room - d->used);
    if (n == 0 || (n < 0 && errno != EINTR))
        give_up(d, method, "it has ended");
    d->used += n > 0 ? (size_t)n : 0;
}

/* The next message, whatever it is: a new reference. */
static json_t *receive(struct devtools *d, const char *method, double deadline)
{
    char *end;
    while (!(end = d->used > d->scanned ? memchr(d->buffer + d->scanned, '\0', d->used - d->scanned) : NULL)) {
        d->scanned = d->used;
        read_more(d, method, deadline);
    }
    json_error_t at;
    json_t *message = json_loads(d->buffer, JSON_ALLOW_NUL, &at);
    cr_assert_not_null(message, "browser, at %s: %s: %.200s", method, at.text, d->buffer);
    d->used -= (size_t)(end + 1 - d->buffer);
    memmove(d->buffer, end + 1, d->used);
    d->scanned = 0;
    return message;
}

/* The whole answer to a command: a new reference. */
static json_t *answer_to(struct devtools *d, const char *session, const char *method, json_t *params)
{
    const json_int_t id = send_command(d, session, method, params);
    const double deadline = now() + DEVTOOLS_PATIENCE;
    for (;;) {
        json_t *message = receive(d, method, deadline);
        if (json_integer_value(json_object_get(message, "id")) == id)
            return message;
        if (json_object_get(message, "method"))
            d->listener(d->context, message);
        json_decref(message);
    }
}

json_t *devtools_try(struct devtools *d, const char *session, const char *method, json_t *params)
{
    json_t *answer = answer_to(d, session, method, params);
    json_t *result = json_incref(json_object_get(answer, "result"));
    json_decref(answer);
    return result;
}

json_t *devtools_call(struct devtools *d, const char *session, const char *method, json_t *params)
{
    json_t *answer = answer_to(d, session, method, params);
    json_t *result = json_incref(json_object_get(answer, "result"));
    cr_assert_not_null(result, "browser, at %s: %s", method,
                       json_string_value(json_object_get(json_object_get(answer, "error"), "message")));
    json_decref(answer);
    return result;
}

void devtools_post(struct devtools *d, const char *session, const char *method, json_t *params)
{
    send_command(d, session, method, params);
}
