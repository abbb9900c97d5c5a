#include "store/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/commit.h"
#include "io/metrics.h"
#include "store/run_steps.h"
#include "store/state.h"

/* A run that prunes its steps faster than this many looks cannot be read. */
#define LOOKS_AT_MOST 100
/* In a folder that others change a list may miss what comes and what goes at once, so one empty look says little. */
#define EMPTY_LOOKS 10

static enum status fail_memory(struct error *err, const char *path)
{
    return fail(err, STATUS_MEMORY, "%s: no memory left for a path", path);
}

/* ---- holding ---- */

enum status run_hold_take(struct run_hold *h, const char *dir, struct error *err)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    h->fd_plus_one = fd + 1;
    return fd < 0 ? fail(err, STATUS_OPEN, "%s: %s", dir, strerror(errno)) : STATUS_OK;
}

void run_hold_release(struct run_hold *h)
{
    if (h->fd_plus_one > 0)
        close(h->fd_plus_one - 1);
    h->fd_plus_one = 0;
}

enum status run_hold_check(const struct run_hold *h, const char *dir, struct error *err)
{
    struct stat held, named;
    if (fstat(h->fd_plus_one - 1, &held) == 0 && stat(dir, &named) == 0 && held.st_dev == named.st_dev &&
        held.st_ino == named.st_ino)
        return STATUS_OK;
    return fail(err, STATUS_WRITE,
                "%s: is not the folder any more in which this training began (it was moved, deleted or replaced): "
                "nothing was saved there; bring the run back and go on with --resume",
                dir);
}

/* ---- names ---- */

void run_step_name(char out[RUN_STEP_NAME_SIZE], size_t step)
{
    snprintf(out, RUN_STEP_NAME_SIZE, "step-%06zu", step);
}

/* step-NNNNNN, step-NNNNNN.old, step-NNNNNN.old-2, ... */
static bool is_step_or_aside(const char *name)
{
    const char *dot = strchr(name, '.');
    if (run_steps_number(name, dot ? (size_t)(dot - name) : strlen(name)) == STATE_NO_STEP)
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

enum status run_of_checkpoint(char **run, const char *folder, struct error *err)
{
    char *dir, *name;
    *run = NULL;
    if (!commit_split(&dir, &name, folder))
        return fail_memory(err, folder);
    if (run_steps_number(name, strlen(name)) == STATE_NO_STEP)
        free(dir);
    else
        *run = dir;
    free(name);
    return STATUS_OK;
}

static bool is_links_name(const char *name)
{
    return strcmp(name, "latest") == 0 || strcmp(name, "best") == 0;
}

/* ---- finding ---- */

static enum status fail_link(struct error *err, const char *path, const char *dir)
{
    return fail(err, STATUS_FORMAT,
                "%s: leads to no complete step of its run: name a step, as in %s/step-000100, or the run itself; train "
                "--resume %s mends the link",
                path, dir, dir);
}

/* *folder stays NULL where path is no link that a run keeps. Such links say which of the run's steps they mean and
 * nothing else: what they lead to otherwise (another run, a folder that is gone) is not what a person asked for. */
static enum status follow_own_link(char **folder, const char *path, const char *dir, const char *name,
                                   struct error *err)
{
    bool is_link;
    size_t step = STATE_NO_STEP;
    struct run_steps steps = {0};
    enum status s = run_steps_is_link(&is_link, dir, name, err);
    if (s != STATUS_OK || !is_link)
        return s;
    s = run_steps_linked(&step, dir, name, err);
    if (s == STATUS_OK && step != STATE_NO_STEP)
        return run_steps_path(folder, dir, step, err);
    if (s == STATUS_OK && is_links_name(name))
        s = run_steps_list(&steps, dir, true, err);
    if (s == STATUS_OK && steps.count > 0)
        s = fail_link(err, path, dir);
    free(steps.step);
    return s;
}

static enum status follow_link(char **folder, const char *path, struct error *err)
{
    char *dir, *name;
    if (!commit_split(&dir, &name, path))
        return fail_memory(err, path);
    const enum status s = follow_own_link(folder, path, dir, name, err);
    free(dir);
    free(name);
    return s;
}

/* A step that goes while it is looked at has made place for a later one. */
static enum status list_settled(struct run_steps *steps, const char *run, struct error *err)
{
    enum status s = run_steps_list(steps, run, true, err);
    int empty = 0;
    for (int i = 0; s == STATUS_OK && steps->count == 0 && empty < EMPTY_LOOKS && i < LOOKS_AT_MOST; i++) {
        empty = steps->vanished ? 0 : empty + 1;
        free(steps->step);
        s = run_steps_list(steps, run, true, err);
    }
    return s;
}

static enum status find_highest(char **folder, const char *run, struct error *err)
{
    struct run_steps steps;
    bool has_log = false;
    enum status s = list_settled(&steps, run, err);
    if (s == STATUS_OK && steps.count > 0)
        s = run_steps_path(folder, run, steps.step[steps.count - 1], err);
    else if (s == STATUS_OK)
        s = run_steps_has_file(&has_log, run, METRICS_FILE, 0, err);
    if (s == STATUS_OK && !*folder)
        s = has_log
                ? fail(err, STATUS_FORMAT, "%s: a run without a checkpoint yet: let it train to its first save", run)
                : fail(err, STATUS_FORMAT,
                       "%s: neither a checkpoint (no config.json) nor a run (no complete step-NNNNNN in it)", run);
    free(steps.step);
    return s;
}

enum status run_find(char **folder, const char *run, struct error *err)
{
    *folder = NULL;
    struct stat st;
    bool has_config;
    enum status s = follow_link(folder, run, err);
    if (s != STATUS_OK || *folder)
        return s;
    if (stat(run, &st) != 0)
        return fail(err, STATUS_OPEN, "%s: %s; a run directory or checkpoint folder was expected", run,
                    strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a file, a run directory or checkpoint folder was expected", run);
    s = run_steps_has_file(&has_config, run, "config.json", 0, err);
    if (s != STATUS_OK || !has_config)
        return s == STATUS_OK ? find_highest(folder, run, err) : s;
    *folder = strdup(run);
    return *folder ? STATUS_OK : fail_memory(err, run);
}

char *run_step_before(const char *folder)
{
    char *dir, *name, *found = NULL;
    struct run_steps steps;
    struct error ignored;
    if (!commit_split(&dir, &name, folder))
        return NULL;
    const size_t step = run_steps_number(name, strlen(name));
    const enum status s = run_steps_list(&steps, dir, true, &ignored);
    size_t below = steps.count;
    while (below > 0 && steps.step[below - 1] >= step)
        below--;
    if (s == STATUS_OK && step != STATE_NO_STEP && below > 0)
        (void)run_steps_path(&found, dir, steps.step[below - 1], &ignored);
    free(steps.step);
    free(dir);
    free(name);
    return found;
}

/* ---- creating ---- */

/* What a save will need is tried before hours of training depend on it, and before anything is moved. */
static enum status write_test(const char *dir, struct error *err)
{
    static const char file[] = ".nopeek-write-test";
    char *path = commit_join(dir, file);
    if (!path)
        return fail_memory(err, dir);
    enum status s = STATUS_OK;
    /* One that was killed left a link that would be followed. */
    if (unlink(path) != 0 && errno != ENOENT)
        s = fail(err, STATUS_WRITE, "%s: cannot be removed: %s", path, strerror(errno));
    if (s == STATUS_OK)
        s = commit_file(path, "test\n", 5, err);
    if (s == STATUS_OK)
        s = commit_link(dir, file, "nowhere", err);
    if (unlink(path) != 0 && errno != ENOENT && s == STATUS_OK)
        s = fail(err, STATUS_WRITE, "%s: cannot be removed: %s", path, strerror(errno));
    free(path);
    return s;
}

enum status run_make_folder(const char *dir, struct error *err)
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

static enum status is_own_name(bool *own, const char *dir, const char *name, struct error *err)
{
    if (is_links_name(name))
        return run_steps_is_link(own, dir, name, err);
    *own = strcmp(name, METRICS_FILE) == 0 || strcmp(name, "report.html") == 0 || is_step_or_aside(name);
    return STATUS_OK;
}

static enum status holds_run(bool *holds, const char *dir, struct error *err)
{
    struct run_steps steps;
    enum status s = run_steps_list(&steps, dir, false, err);
    *holds = steps.count > 0;
    if (s == STATUS_OK && !*holds)
        s = run_steps_has_file(holds, dir, METRICS_FILE, 1, err);
    free(steps.step);
    return s;
}

static enum status move_into(const char *dir, const char *aside, const char *name, struct error *err)
{
    char *from = commit_join(dir, name), *to = commit_join(aside, name);
    enum status s = STATUS_OK;
    if (!from || !to)
        s = fail_memory(err, dir);
    else if (rename(from, to) != 0)
        s = fail(err, STATUS_WRITE, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    free(from);
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
    while (s == STATUS_OK && !*moved) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e && errno != 0)
            s = fail(err, STATUS_WRITE, "%s: %s", dir, strerror(errno));
        if (!e)
            break;
        s = is_own_name(moved, dir, e->d_name, err);
        if (s == STATUS_OK && *moved)
            s = move_into(dir, aside, e->d_name, err);
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

/* A folder that is there: may a run begin in it, and does it hold another, which force moves aside? */
static enum status check_folder(bool *holds, const char *dir, bool force, struct error *err)
{
    enum status s = run_steps_has_file(holds, dir, "config.json", 0, err);
    if (s == STATUS_OK && *holds)
        s = fail(err, STATUS_USAGE, "%s: is a checkpoint folder itself (it has a config.json): name another -o", dir);
    if (s == STATUS_OK)
        s = holds_run(holds, dir, err);
    if (s == STATUS_OK && *holds && !force)
        s = fail(err, STATUS_USAGE,
                 "%s: holds a run already: continue it with --resume, move it aside with --force, or name another -o",
                 dir);
    return s;
}

enum status run_may_create(const char *dir, bool force, struct error *err)
{
    bool holds;
    struct stat st;
    return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) ? check_folder(&holds, dir, force, err) : STATUS_OK;
}

enum status run_create(const char *dir, bool force, struct error *err)
{
    bool holds = false;
    enum status s = run_make_folder(dir, err);
    if (s == STATUS_OK)
        s = check_folder(&holds, dir, force, err);
    if (s == STATUS_OK)
        s = write_test(dir, err);
    return s == STATUS_OK && holds ? move_run_aside(dir, err) : s;
}

bool run_room(uintmax_t *bytes, const char *dir)
{
    struct statvfs disk;
    /* Some network file systems answer with zeros. */
    if (statvfs(dir, &disk) != 0 || disk.f_blocks == 0)
        return false;
    *bytes = (uintmax_t)disk.f_bavail * disk.f_frsize;
    return true;
}

/* ---- keeping ---- */

/* What is no link may be somebody's, or a copy of the run by a tool that follows links: it is kept. */
static enum status point(const char *dir, const char *link, const char *target, struct error *err)
{
    bool is_link;
    enum status s = run_steps_is_link(&is_link, dir, link, err);
    if (s == STATUS_OK && !is_link) {
        char *path = commit_join(dir, link);
        s = path ? commit_move_aside(path, NULL, err) : fail_memory(err, dir);
        free(path);
    }
    return s == STATUS_OK ? commit_link(dir, link, target, err) : s;
}

enum status run_link(const char *dir, size_t latest_step, size_t best_step, struct error *err)
{
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, latest_step);
    bool there;
    enum status s = point(dir, "latest", name, err);
    if (s != STATUS_OK || best_step == STATE_NO_STEP)
        return s;
    /* The best step of a run that went back to an earlier one may have been pruned since. */
    run_step_name(name, best_step);
    s = run_steps_is(&there, dir, name, true, err);
    return s == STATUS_OK && there ? point(dir, "best", name, err) : s;
}

enum status run_prune(const char *dir, size_t keep, size_t latest_step, size_t best_step, struct error *err)
{
    if (keep == 0)
        return STATUS_OK;
    struct run_steps steps;
    enum status s = run_steps_list(&steps, dir, true, err);
    size_t remaining = steps.count;
    for (size_t i = 0; i < steps.count && remaining > keep && s == STATUS_OK; i++) {
        char *path;
        if (steps.step[i] == latest_step || steps.step[i] == best_step)
            continue;
        s = run_steps_path(&path, dir, steps.step[i], err);
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
    struct run_steps steps;
    enum status s = run_steps_list(&steps, dir, false, err);
    for (size_t i = steps.count; i-- > 0 && s == STATUS_OK && steps.step[i] > step;) {
        char *path;
        s = run_steps_path(&path, dir, steps.step[i], err);
        if (s == STATUS_OK)
            s = commit_move_aside(path, NULL, err);
        free(path);
        if (s == STATUS_OK)
            (*moved)++;
    }
    free(steps.step);
    return s;
}

static enum status remove_dangling_best(const char *dir, struct error *err)
{
    bool is_link;
    size_t step = STATE_NO_STEP;
    enum status s = run_steps_is_link(&is_link, dir, "best", err);
    if (s == STATUS_OK && is_link)
        s = run_steps_linked(&step, dir, "best", err);
    if (s != STATUS_OK || !is_link || step != STATE_NO_STEP)
        return s;
    char *best = commit_join(dir, "best");
    if (!best)
        return fail_memory(err, dir);
    if (unlink(best) != 0 && errno != ENOENT)
        s = fail(err, STATUS_WRITE, "%s: leads to no step, and cannot be removed: %s", best, strerror(errno));
    free(best);
    return s;
}

enum status run_rewind(const char *dir, size_t step, size_t best_step, size_t *moved, struct error *err)
{
    static const char *const kinds[] = {"step-000000", "latest", "best", METRICS_FILE};
    *moved = 0;
    /* A save that was killed may have been the last there will be, so that no other one clears up after it. */
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        commit_sweep(dir, kinds[i]);
    enum status s = write_test(dir, err);
    if (s == STATUS_OK)
        s = move_later_steps(moved, dir, step, err);
    if (s == STATUS_OK)
        s = remove_dangling_best(dir, err);
    /* Also when nothing was moved: whoever saved this step may have died before the links. It syncs the folder too. */
    return s == STATUS_OK ? run_link(dir, step, best_step, err) : s;
}
