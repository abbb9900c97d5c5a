#include "store/run_steps.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/commit.h"
#include "store/run.h"
#include "store/state.h"

/* A link that moves on this often while it is read belongs to no training. */
#define MOVES_AT_MOST 100

static enum status fail_memory(struct error *err, const char *path)
{
    return fail(err, STATUS_MEMORY, "%s: no memory left for a path", path);
}

size_t run_steps_number(const char *name, size_t n)
{
    char text[RUN_STEP_NAME_SIZE], canonical[RUN_STEP_NAME_SIZE];
    if (n >= sizeof text || n < strlen("step-000000") || memcmp(name, "step-", 5) != 0)
        return STATE_NO_STEP;
    memcpy(text, name, n);
    text[n] = '\0';
    errno = 0;
    const unsigned long long step = strtoull(text + 5, NULL, 10);
    if (errno != 0 || step >= SIZE_MAX)
        return STATE_NO_STEP;
    run_step_name(canonical, (size_t)step);
    return strcmp(canonical, text) == 0 ? (size_t)step : STATE_NO_STEP;
}

enum status run_steps_path(char **path, const char *dir, size_t step, struct error *err)
{
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, step);
    *path = commit_join(dir, name);
    return *path ? STATUS_OK : fail_memory(err, dir);
}

/* What is at DIR/NAME, its mode 0 when nothing is: a link to itself is as good as nothing. */
static enum status look(struct stat *st, const char *dir, const char *name, bool follow, struct error *err)
{
    st->st_mode = 0;
    char *path = commit_join(dir, name);
    if (!path)
        return fail_memory(err, dir);
    enum status s = STATUS_OK;
    if ((follow ? stat(path, st) : lstat(path, st)) != 0) {
        st->st_mode = 0;
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            s = fail(err, STATUS_OPEN, "%s: %s", path, strerror(errno));
    }
    free(path);
    return s;
}

enum status run_steps_has_file(bool *has, const char *dir, const char *name, off_t least, struct error *err)
{
    struct stat st;
    const enum status s = look(&st, dir, name, true, err);
    *has = s == STATUS_OK && S_ISREG(st.st_mode) && st.st_size >= least;
    return s;
}

enum status run_steps_is(bool *is, const char *dir, const char *name, bool complete, struct error *err)
{
    struct stat st;
    enum status s = look(&st, dir, name, false, err);
    *is = s == STATUS_OK && S_ISDIR(st.st_mode);
    if (!*is || !complete)
        return s;
    char *path = commit_join(dir, name);
    if (!path)
        return fail_memory(err, dir);
    s = run_steps_has_file(is, path, "trainer_state.json", 1, err);
    if (*is)
        s = run_steps_has_file(is, path, "model.safetensors", 1, err);
    free(path);
    return s;
}

static enum status add_step(struct run_steps *s, const char *dir, size_t step, struct error *err)
{
    if (s->count == s->room) {
        const size_t room = 2 * s->room + 16;
        size_t *more = realloc(s->step, room * sizeof *more);
        if (!more)
            return fail_memory(err, dir);
        s->step = more;
        s->room = room;
    }
    s->step[s->count++] = step;
    return STATUS_OK;
}

static enum status consider(struct run_steps *steps, const char *dir, const char *name, bool complete,
                            struct error *err)
{
    const size_t step = run_steps_number(name, strlen(name));
    struct stat st;
    bool is;
    if (step == STATE_NO_STEP)
        return STATUS_OK;
    enum status s = run_steps_is(&is, dir, name, complete, err);
    if (s == STATUS_OK && is)
        return add_step(steps, dir, step, err);
    if (s == STATUS_OK)
        s = look(&st, dir, name, false, err);
    steps->vanished |= s == STATUS_OK && st.st_mode == 0;
    return s;
}

static int by_number(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return (a > b) - (a < b);
}

enum status run_steps_list(struct run_steps *steps, const char *dir, bool complete, struct error *err)
{
    *steps = (struct run_steps){0};
    DIR *d = opendir(dir);
    if (!d)
        return fail(err, STATUS_OPEN, "%s: %s", dir, strerror(errno));
    enum status s = STATUS_OK;
    while (s == STATUS_OK) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (e)
            s = consider(steps, dir, e->d_name, complete, err);
        else if (errno != 0)
            s = fail(err, STATUS_OPEN, "%s: %s", dir, strerror(errno));
        else
            break;
    }
    closedir(d);
    if (steps->count > 0)
        qsort(steps->step, steps->count, sizeof *steps->step, by_number);
    return s;
}

enum status run_steps_is_link(bool *is, const char *dir, const char *name, struct error *err)
{
    struct stat st;
    const enum status s = look(&st, dir, name, false, err);
    *is = s == STATUS_OK && S_ISLNK(st.st_mode);
    return s;
}

/* The step that a link names, whether it is there or not. */
static enum status named_step(size_t *step, const char *dir, const char *link, struct error *err)
{
    char target[RUN_STEP_NAME_SIZE];
    *step = STATE_NO_STEP;
    char *path = commit_join(dir, link);
    if (!path)
        return fail_memory(err, dir);
    enum status s = STATUS_OK;
    const ssize_t n = readlink(path, target, sizeof target);
    if (n >= 0 && (size_t)n < sizeof target)
        *step = run_steps_number(target, (size_t)n);
    else if (n < 0 && errno != ENOENT && errno != ENOTDIR && errno != EINVAL && errno != ELOOP)
        s = fail(err, STATUS_OPEN, "%s: %s", path, strerror(errno));
    free(path);
    return s;
}

enum status run_steps_linked(size_t *step, const char *dir, const char *link, struct error *err)
{
    size_t before = STATE_NO_STEP;
    for (int i = 0; i < MOVES_AT_MOST; i++) {
        bool complete;
        char name[RUN_STEP_NAME_SIZE];
        enum status s = named_step(step, dir, link, err);
        if (s != STATUS_OK || *step == STATE_NO_STEP)
            return s;
        if (i > 0 && *step == before)
            break;
        run_step_name(name, *step);
        s = run_steps_is(&complete, dir, name, true, err);
        if (s != STATUS_OK || complete)
            return s;
        before = *step; /* gone, or never there: a link that names another by now tells which */
    }
    *step = STATE_NO_STEP;
    return STATUS_OK;
}
