/* nopeek COMMAND [options] ...: finds the command, fills its settings, runs it, says how it went. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fpu.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/compute.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "kernels/gemm.h"

/* A standard stream that comes closed would be given to the next file opened, a checkpoint perhaps. Its number is
 * taken by an end of /dev/null on which the wrong direction fails, so that output to it is reported as lost. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* One line; on a screen that is too narrow for it, broken between words. */
static int failed(enum status status, const struct error *err)
{
    struct terminal t;
    terminal_open(&t, stderr);
    terminal_entry(&t, "nopeek: ", "%s", err->message);
    return command_exit(status);
}

/* Output that did not arrive makes success a failure. */
static int finish(int exit_status)
{
    if (exit_status != 0) /* the reason has been given */
        return exit_status;
    struct error err;
    const enum status s = command_flush(&err);
    if (s != STATUS_OK)
        return failed(s, &err);
    /* Some file systems tell of a full disk only here. */
    return fclose(stdout) == 0 ? 0 : failed(fail(&err, STATUS_WRITE, "standard output: %s", strerror(errno)), &err);
}

static struct terminal terminal_of(FILE *stream)
{
    struct terminal t;
    terminal_open(&t, stream);
    return t;
}

static int run(const struct command *c, int argc, char **argv)
{
    struct error err = {{0}};
    const struct terminal out = terminal_of(stdout);
    void *settings = calloc(1, c->settings_size ? c->settings_size : 1);
    if (!settings)
        return failed(fail(&err, STATUS_MEMORY, "out of memory"), &err);
    struct options options;
    enum status s = options_parse(&options, c->name, c->options, settings, argc, argv, &err);
    if (s != STATUS_OK) {
        fail_within(&err, s, "%s", c->name);
    } else if (options.help) {
        help_command(&out, c);
    } else if (options.version) {
        puts("nopeek " NOPEEK_VERSION);
    } else {
        s = command_check_operands(c, &options, &err);
        gemm_setup();
        if (s == STATUS_OK)
            s = compute_check(!c->no_products, &err);
        if (s == STATUS_OK)
            s = c->run(&options, settings, &err);
    }
    int status = 0;
    if (s != STATUS_OK) {
        fflush(stdout); /* results so far come before the message */
        status = failed(s, &err);
    }
    options_free(&options);
    free(settings);
    return status;
}

static const struct command *find(const char *name, int *status)
{
    const struct command *c = command_find(name);
    if (c)
        return c;
    struct error err;
    const char *near = command_nearest(name);
    if (near)
        fail(&err, STATUS_USAGE, "unknown command \"%.100s\": did you mean %s?", name, near);
    else
        fail(&err, STATUS_USAGE, "unknown command \"%.100s\": nopeek help lists them", name);
    *status = failed(STATUS_USAGE, &err);
    return NULL;
}

static int help(int argc, char **argv)
{
    int status = 0;
    const struct terminal out = terminal_of(stdout);
    if (argc < 3) {
        help_overview(&out, command_list);
    } else if (strcmp(argv[2], "help") == 0 || strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
        help_help(&out);
    } else if (strcmp(argv[2], "--man") == 0) {
        manual_write(stdout, command_list);
    } else if (strcmp(argv[2], "--completion") == 0) {
        struct error err;
        if (argc < 4 || !completion_write(stdout, argv[3], command_list))
            status = failed(fail(&err, STATUS_USAGE, "help --completion: found %s%.40s%s, bash or zsh expected",
                                 argc < 4 ? "nothing" : "\"", argc < 4 ? "" : argv[3], argc < 4 ? "" : "\""),
                            &err);
    } else {
        const struct command *c = find(argv[2], &status);
        if (c)
            help_command(&out, c);
    }
    return status;
}

static int nopeek(int argc, char **argv)
{
    occupy_standard_streams();
    fpu_reset();
    /* A reader that goes away (`nopeek ... | head`) is an error of a write, not a blow that stops a save. */
    signal(SIGPIPE, SIG_IGN);
    /* Likewise a file that grows past the limit set for it (ulimit -f). */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        const struct terminal err = terminal_of(stderr);
        help_brief(&err);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return finish(help(argc, argv));
    if (strcmp(name, "--version") == 0) {
        puts("nopeek " NOPEEK_VERSION);
        return finish(0);
    }
    if (name[0] == '-') {
        struct error err;
        return failed(
            fail(&err, STATUS_USAGE, "found \"%.100s\", expected a command first: nopeek help lists them", name), &err);
    }
    int status = 0;
    const struct command *c = find(name, &status);
    if (!c)
        return status;
    status = run(c, argc - 1, argv + 1);
    compute_end();
    return finish(status);
}

int main(int argc, char **argv)
{
    const int status = nopeek(argc, argv);
    /* Threads that OpenBLAS began when it was loaded never end where they got no memory, and exit waits for them. */
    if (!gemm_has_room(1))
        _exit(status);
    return status;
}
