#include "store/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/commit.h"
#include "io/metrics.h"
#include "store/state.h"

static enum status fail_memory(struct error *err, const char *path)
{
    return fail(err, STATUS_MEMORY, "%s: no memory left for a path", path);
}

/* ---- names ---- */

void run_step_name(char out[RUN_STEP_NAME_SIZE], size_t step)
{
    snprintf(out, RUN_STEP_NAME_SIZE, "step-%06zu", step);
}

/* The step that the first n characters of name stand for, STATE_NO_STEP when they are no step's name. */
static size_t step_of_name(const char *name, size_t n)
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

/* step-NNNNNN, step-NNNNNN.old, step-NNNNNN.old-2, ... */
static bool is_step_or_aside(const char *name)
{
    const char *dot = strchr(name, '.');
    if (step_of_name(name, dot ? (size_t)(dot - name) : strlen(name)) == STATE_NO_STEP)
        return false;
    if (!dot || strcmp(dot, ".old") == 0)
        return true;
    return strncmp(dot, ".old-", 5) == 0 && dot[5] != '\0' && dot[5 + strspn(dot + 5, "0123456789")] == '\0';
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A regular file DIR/NAME of `least` bytes or more. */
static bool has_file(const char *dir, const char *name, off_t least)
{
    struct stat st;
    char *path = commit_join(dir, name);
    const bool found = path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= least;
    free(path);
    return found;
}

char *run_of_checkpoint(const char *folder)
{
    char *dir, *name;
    if (!commit_split(&dir, &name, folder))
        return NULL;
    if (step_of_name(name, strlen(name)) == STATE_NO_STEP) {
        free(dir);
        dir = NULL;
    }
    free(name);
    return dir;
}

/* ---- the steps of a run ---- */

struct steps {
    size_t *step; /* (count), ascending */
    size_t count, room;
};

static int by_number(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return (a > b) - (a < b);
}

/* The folder itself must be there, not a link to one: a link may dangle, or lead to another run. */
static bool is_step_folder(const char *dir, const char *name, bool complete)
{
    struct stat st;
    char *path = commit_join(dir, name);
    bool found = path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (found && complete)
        found = has_file(path, "trainer_state.json", 1) && has_file(path, "model.safetensors", 1);
    free(path);
    return found;
}

static enum status add_step(struct steps *s, const char *dir, size_t step, struct error *err)
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

/* Free steps->step in every case. */
static enum status list_steps(struct steps *steps, const char *dir, bool complete, struct error *err)
{
    *steps = (struct steps){0};
    DIR *d = opendir(dir);
    if (!d)
        return fail(err, STATUS_OPEN, "%s: %s", dir, strerror(errno));
    enum status s = STATUS_OK;
    errno = 0;
    for (const struct dirent *e = readdir(d); e && s == STATUS_OK; errno = 0, e = readdir(d)) {
        const size_t step = step_of_name(e->d_name, strlen(e->d_name));
        if (step != STATE_NO_STEP && is_step_folder(dir, e->d_name, complete))
            s = add_step(steps, dir, step, err);
    }
    if (s == STATUS_OK && errno != 0)
        s = fail(err, STATUS_OPEN, "%s: %s", dir, strerror(errno));
    closedir(d);
    if (steps->count > 0)
        qsort(steps->step, steps->count, sizeof *steps->step, by_number);
    return s;
}

static enum status step_path(char **path, const char *dir, size_t step, struct error *err)
{
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, step);
    *path = commit_join(dir, name);
    return *path ? STATUS_OK : fail_memory(err, dir);
}

/* The complete step of this run that a link in it points to, or STATE_NO_STEP. */
static size_t linked_step(const char *dir, const char *link)
{
    char target[RUN_STEP_NAME_SIZE];
    char *path = commit_join(dir, link);
    const ssize_t n = path ? readlink(path, target, sizeof target) : -1;
    free(path);
    if (n < 0 || (size_t)n >= sizeof target)
        return STATE_NO_STEP;
    target[n] = '\0';
    const size_t step = step_of_name(target, (size_t)n);
    return step != STATE_NO_STEP && is_step_folder(dir, target, true) ? step : STATE_NO_STEP;
}

/* ---- finding ---- */

/* RUN/latest given by its own path: the step that it points to, so that the run around it is known. */
static enum status resolve_checkpoint(char **folder, const char *path, struct error *err)
{
    char *dir, *name;
    if (!commit_split(&dir, &name, path))
        return fail_memory(err, path);
    const size_t step = linked_step(dir, name);
    enum status s = STATUS_OK;
    if (step != STATE_NO_STEP)
        s = step_path(folder, dir, step, err);
    else if (!(*folder = strdup(path)))
        s = fail_memory(err, path);
    free(dir);
    free(name);
    return s;
}

static enum status find_highest(char **folder, const char *run, struct error *err)
{
    struct steps steps;
    enum status s = list_steps(&steps, run, true, err);
    if (s == STATUS_OK && steps.count > 0)
        s = step_path(folder, run, steps.step[steps.count - 1], err);
    else if (s == STATUS_OK && has_file(run, METRICS_FILE, 0))
        s = fail(err, STATUS_FORMAT, "%s: a run without a checkpoint yet: let it train to its first save", run);
    else if (s == STATUS_OK)
        s = fail(err, STATUS_FORMAT,
                 "%s: neither a checkpoint (no config.json) nor a run (no complete step-NNNNNN in it)", run);
    free(steps.step);
    return s;
}

enum status run_find(char **folder, const char *run, struct error *err)
{
    *folder = NULL;
    struct stat st;
    if (stat(run, &st) != 0)
        return fail(err, STATUS_OPEN, "%s: %s; a run directory or checkpoint folder was expected", run,
                    strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a file, a run directory or checkpoint folder was expected", run);
    if (has_file(run, "config.json", 0))
        return resolve_checkpoint(folder, run, err);
    return find_highest(folder, run, err);
}

/* ---- creating ---- */

/* mkdir -p */
static enum status make_folders(const char *dir, struct error *err)
{
    if (dir[0] == '\0')
        return fail(err, STATUS_USAGE, "the run directory's name is empty: give one");
    char *path = strdup(dir);
    if (!path)
        return fail_memory(err, dir);
    enum status s = STATUS_OK;
    for (char *p = path + 1; s == STATUS_OK; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        const char end = *p;
        *p = '\0';
        /* Whatever mkdir said, a folder that is there will do: it also says EROFS, EACCES or EISDIR of those. */
        if (mkdir(path, 0777) != 0) {
            const int why = errno;
            if (!is_folder(path))
                s = fail(err, STATUS_WRITE, "%s: %s", path,
                         why == EEXIST ? "is there and no folder: name another place" : strerror(why));
        }
        *p = end;
        if (end == '\0')
            break;
    }
    free(path);
    return s;
}

static bool is_link(const char *dir, const char *name)
{
    struct stat st;
    char *path = commit_join(dir, name);
    const bool found = path && lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    free(path);
    return found;
}

static bool is_own_name(const char *dir, const char *name)
{
    if (strcmp(name, "latest") == 0 || strcmp(name, "best") == 0)
        return is_link(dir, name);
    return strcmp(name, METRICS_FILE) == 0 || strcmp(name, "report.html") == 0 || is_step_or_aside(name);
}

static enum status holds_run(bool *holds, const char *dir, struct error *err)
{
    struct steps steps;
    const enum status s = list_steps(&steps, dir, false, err);
    *holds = steps.count > 0 || has_file(dir, METRICS_FILE, 1);
    free(steps.step);
    return s;
}

static enum status move_into(const char *from, const char *dir, const char *name, struct error *err)
{
    char *to = commit_join(dir, name);
    if (!to)
        return fail_memory(err, dir);
    const enum status s = rename(from, to) == 0
                              ? STATUS_OK
                              : fail(err, STATUS_WRITE, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    free(to);
    return s;
}

/* Moves the first own name that a pass over the folder meets; *moved says whether there was one. One a pass,
 * since a folder that changes while it is read may skip names. */
static enum status move_one_own(bool *moved, const char *dir, const char *aside, struct error *err)
{
    *moved = false;
    DIR *d = opendir(dir);
    if (!d)
        return fail(err, STATUS_WRITE, "%s: %s", dir, strerror(errno));
    enum status s = STATUS_OK;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (!is_own_name(dir, e->d_name))
            continue;
        char *from = commit_join(dir, e->d_name);
        s = from ? move_into(from, aside, e->d_name, err) : fail_memory(err, dir);
        free(from);
        *moved = true;
        break;
    }
    closedir(d);
    return s;
}

/* DIR/old-1, or the next number that is free, made and allocated. */
static enum status make_old(char **aside, const char *dir, struct error *err)
{
    *aside = NULL;
    for (unsigned long i = 1;; i++) {
        char name[32];
        snprintf(name, sizeof name, "old-%lu", i);
        char *path = commit_join(dir, name);
        if (!path)
            return fail_memory(err, dir);
        if (mkdir(path, 0777) == 0) {
            *aside = path;
            return STATUS_OK;
        }
        const enum status s = errno == EEXIST ? STATUS_OK : fail(err, STATUS_WRITE, "%s: %s", path, strerror(errno));
        free(path);
        if (s != STATUS_OK)
            return s;
    }
}

static enum status move_run_aside(const char *dir, struct error *err)
{
    char *aside;
    enum status s = make_old(&aside, dir, err);
    for (bool moved = true; s == STATUS_OK && moved;)
        s = move_one_own(&moved, dir, aside, err);
    if (s == STATUS_OK)
        s = commit_sync_folder(aside, err);
    free(aside);
    return s == STATUS_OK ? commit_sync_folder(dir, err) : s;
}

/* What a save will need is tried before hours of training depend on it. */
static enum status write_test(const char *dir, struct error *err)
{
    static const char file[] = ".nopeek-write-test";
    char *path = commit_join(dir, file);
    if (!path)
        return fail_memory(err, dir);
    enum status s = commit_file(path, "test\n", 5, err);
    if (s == STATUS_OK)
        s = commit_link(dir, file, "nowhere", err);
    unlink(path);
    free(path);
    return s;
}

enum status run_create(const char *dir, bool force, struct error *err)
{
    bool holds;
    enum status s = make_folders(dir, err);
    if (s != STATUS_OK)
        return s;
    if (has_file(dir, "config.json", 0))
        return fail(err, STATUS_USAGE, "%s: is a checkpoint folder itself (it has a config.json): name another -o",
                    dir);
    s = holds_run(&holds, dir, err);
    if (s != STATUS_OK)
        return s;
    if (holds && !force)
        return fail(
            err, STATUS_USAGE,
            "%s: holds a run already: continue it with --resume, move it aside with --force, or name another -o", dir);
    s = write_test(dir, err);
    return s == STATUS_OK && holds ? move_run_aside(dir, err) : s;
}

/* ---- keeping ---- */

enum status run_link(const char *dir, size_t latest_step, size_t best_step, struct error *err)
{
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, latest_step);
    const enum status s = commit_link(dir, "latest", name, err);
    if (s != STATUS_OK || best_step == STATE_NO_STEP)
        return s;
    /* The best step of a run that went back to an earlier one may have been pruned since. */
    run_step_name(name, best_step);
    return is_step_folder(dir, name, true) ? commit_link(dir, "best", name, err) : STATUS_OK;
}

enum status run_prune(const char *dir, size_t keep, size_t latest_step, size_t best_step, struct error *err)
{
    if (keep == 0)
        return STATUS_OK;
    struct steps steps;
    enum status s = list_steps(&steps, dir, true, err);
    size_t remaining = steps.count;
    for (size_t i = 0; i < steps.count && remaining > keep && s == STATUS_OK; i++) {
        char *path;
        if (steps.step[i] == latest_step || steps.step[i] == best_step)
            continue;
        s = step_path(&path, dir, steps.step[i], err);
        if (s == STATUS_OK)
            s = commit_remove_folder(path, err);
        free(path);
        remaining--;
    }
    free(steps.step);
    return s;
}

/* Highest first: if this is cut short, what remains is a run that was saved less far. */
static enum status move_later_steps(size_t *moved, const char *dir, size_t step, struct error *err)
{
    struct steps steps;
    enum status s = list_steps(&steps, dir, false, err);
    for (size_t i = steps.count; i-- > 0 && s == STATUS_OK && steps.step[i] > step;) {
        char *path;
        s = step_path(&path, dir, steps.step[i], err);
        if (s == STATUS_OK)
            s = commit_move_aside(path, NULL, err);
        free(path);
        if (s == STATUS_OK)
            (*moved)++;
    }
    free(steps.step);
    return s;
}

static void remove_dangling_best(const char *dir)
{
    if (!is_link(dir, "best") || linked_step(dir, "best") != STATE_NO_STEP)
        return;
    char *best = commit_join(dir, "best");
    if (best)
        unlink(best);
    free(best);
}

enum status run_rewind(const char *dir, size_t step, size_t best_step, size_t *moved, struct error *err)
{
    *moved = 0;
    const enum status s = move_later_steps(moved, dir, step, err);
    if (s != STATUS_OK)
        return s;
    remove_dangling_best(dir);
    /* Also when nothing was moved: whoever saved this step may have died before the links. */
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, best_step);
    const bool has_best = best_step != STATE_NO_STEP && is_step_folder(dir, name, true);
    return run_link(dir, step, has_best ? best_step : STATE_NO_STEP, err); /* syncs the folder too */
}
