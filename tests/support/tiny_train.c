#include "support/tiny_train.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/scratch.h"

#define MOST_WORDS 60

const char *tiny_train_text(void)
{
    static const char line[] = "abc dea, fab\ncad gab. ";
    const char *path = scratch_path("text.txt");
    char text[601];
    if (scratch_exists(path))
        return path;
    for (size_t i = 0; i < 600; i++)
        text[i] = line[(i + i * i / 50) % (sizeof line - 1)];
    scratch_write(path, text, 600);
    return path;
}

/* The whole list of words after "nopeek". */
static void complete(const char *all[MOST_WORDS], const char *const *words)
{
    static const char *const shape[] = {"--n-layer",    "1", "--n-head",       "2", "--n-embd",      "8",
                                        "--block-size", "8", "--batch-size",   "2", "--steps",       "20",
                                        "--dropout",    "0", "--eval-windows", "4", "--sample-size", "12"};
    bool resumed = false, from = false;
    size_t n = 0;
    for (size_t i = 0; words[i]; i++) {
        resumed |= strcmp(words[i], "--resume") == 0;
        from |= strcmp(words[i], "--init-from") == 0;
    }
    all[n++] = "train";
    for (size_t i = from ? 8 : 0; !resumed && i < sizeof shape / sizeof *shape; i++)
        all[n++] = shape[i];
    if (!resumed) {
        all[n++] = "--threads";
        all[n++] = "1";
    }
    for (size_t i = 0; words[i]; i++) {
        cr_assert_lt(n, MOST_WORDS - 1);
        all[n++] = words[i];
    }
    all[n] = NULL;
}

void tiny_train(struct program *p, const char *const *words)
{
    const char *all[MOST_WORDS];
    complete(all, words);
    program_run(p, NULL, all);
}

void tiny_train_ok(const char *const *words)
{
    struct program p;
    tiny_train(&p, words);
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
}

pid_t tiny_train_start(const char *const *words)
{
    const char *argv[MOST_WORDS + 1] = {NOPEEK_BINARY};
    complete(argv + 1, words);
    const int out = open("/dev/null", O_WRONLY),
              err = open(scratch_path("err"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    cr_assert(out >= 0 && err >= 0);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        dup2(out, 1);
        dup2(err, 2);
        signal(SIGINT, SIG_DFL); /* ignored where the tests run in the background, */
        signal(SIGHUP, SIG_DFL); /* or under nohup */
        execv(NOPEEK_BINARY, (char *const *)argv);
        _exit(127);
    }
    close(out);
    close(err);
    return child;
}

int tiny_train_wait(pid_t child)
{
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void tiny_train_await(const char *path)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    for (size_t i = 0; i < 30000 && !scratch_exists(path); i++)
        nanosleep(&moment, NULL);
    cr_assert(scratch_exists(path), "%s", path);
}
