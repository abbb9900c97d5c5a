#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *read_back(FILE *f, size_t *size)
{
    cr_assert_eq(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*size + 1);
    cr_assert(text && fread(text, 1, *size, f) == *size);
    text[*size] = '\0';
    fclose(f);
    return text;
}

static void run(struct program *p, const char *input, const char *file, const char *const *argv)
{
    FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
    cr_assert(in && out && err);
    if (input)
        fwrite(input, 1, strlen(input), in);
    rewind(in);
    fflush(NULL);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        dup2(fileno(in), 0);
        dup2(fileno(out), 1);
        dup2(fileno(err), 2);
        setenv("NOPEEK", NOPEEK_BINARY, 1);
        execvp(file, (char *const *)argv);
        _exit(127);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    fclose(in);
    *p = (struct program){.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    p->out = read_back(out, &p->out_size);
    p->err = read_back(err, &p->err_size);
}

void program_run(struct program *p, const char *input, const char *const *arguments)
{
    const char *argv[64] = {NOPEEK_BINARY};
    size_t n = 1;
    for (; arguments[n - 1]; n++) {
        cr_assert_lt(n, 63);
        argv[n] = arguments[n - 1];
    }
    run(p, input, NOPEEK_BINARY, argv);
}

void program_shell(struct program *p, const char *line)
{
    run(p, NULL, "sh", (const char *const[]){"sh", "-c", line, NULL});
}

void program_free(struct program *p)
{
    free(p->out);
    free(p->err);
    *p = (struct program){0};
}

void program_expect_refused(const struct program *p, int status, const char *says)
{
    cr_assert_eq(p->status, status, "%s%s", p->out, p->err);
    cr_assert_eq(strncmp(p->err, "nopeek: ", 8), 0, "%s", p->err);
    cr_assert_eq(strcspn(p->err, "\n") + 1, p->err_size, "one line: %s", p->err);
    cr_assert(strstr(p->err, says), "\"%s\" lacks \"%s\"", p->err, says);
    cr_assert_eq(p->out_size, 0, "%s", p->out);
}
