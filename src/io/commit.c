#include "io/commit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some systems refuse a single write of more than INT_MAX bytes. */
#define WRITE_AT_MOST ((size_t)1 << 30)

#define LINKS_AT_MOST 40

static enum status fail_memory(struct error *err, const char *path)
{
    return fail(err, STATUS_MEMORY, "%s: no memory left for a path", path);
}

static enum status fail_write(struct error *err, const char *path)
{
    return fail(err, STATUS_WRITE, "%s: %s", path, strerror(errno));
}

/* ---- paths ---- */

char *commit_join(const char *dir, const char *name)
{
    const size_t n = strlen(dir);
    const char *slash = n > 0 && dir[n - 1] == '/' ? "" : "/";
    const size_t size = n + strlen(slash) + strlen(name) + 1;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s", dir, slash, name);
    return path;
}

bool commit_split(char **dir, char **name, const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    size_t dir_end = begin;
    while (dir_end > 1 && path[dir_end - 1] == '/')
        dir_end--;
    *name = strndup(path + begin, end - begin);
    *dir = dir_end == 0 ? strdup(".") : strndup(path, dir_end);
    if (*name && *dir)
        return true;
    free(*name);
    free(*dir);
    *name = *dir = NULL;
    return false;
}

/* DIR/.NAME.tmp-PID, allocated. */
static char *temporary_path(const char *dir, const char *name)
{
    const size_t size = strlen(name) + 40;
    char *hidden = malloc(size);
    if (!hidden)
        return NULL;
    snprintf(hidden, size, ".%s.tmp-%jd", name, (intmax_t)getpid());
    char *path = commit_join(dir, hidden);
    free(hidden);
    return path;
}

/* ---- syncing and writing ---- */

static int sync_descriptor(int fd)
{
    int r;
    do
        r = fsync(fd);
    while (r != 0 && errno == EINTR);
    return r;
}

enum status commit_sync_folder(const char *path, struct error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_write(err, path);
    /* File systems that cannot sync a folder say so with these; there is nothing more to be done on them. */
    const bool synced = sync_descriptor(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP;
    const enum status s = synced ? STATUS_OK : fail_write(err, path);
    close(fd);
    return s;
}

static enum status write_all(int fd, const char *path, const void *bytes, size_t n, struct error *err)
{
    const unsigned char *p = bytes;
    size_t done = 0;
    while (done < n) {
        const size_t part = n - done < WRITE_AT_MOST ? n - done : WRITE_AT_MOST;
        const ssize_t w = write(fd, p + done, part);
        if (w > 0)
            done += (size_t)w;
        else if (w == 0 || errno != EINTR)
            return fail(err, STATUS_WRITE, "%s: %zu of %zu bytes written, then: %s", path, done, n,
                        w == 0 ? "no more accepted" : strerror(errno));
    }
    return STATUS_OK;
}

/* Writes, syncs when `sync` says so, and closes fd in every case. */
static enum status write_and_close(int fd, const char *path, const void *bytes, size_t n, bool sync, struct error *err)
{
    enum status s = write_all(fd, path, bytes, n, err);
    if (s == STATUS_OK && sync && sync_descriptor(fd) != 0)
        s = fail_write(err, path);
    /* After an interrupted close the descriptor is gone, and the bytes were synced before. */
    if (close(fd) != 0 && errno != EINTR && s == STATUS_OK)
        s = fail_write(err, path);
    return s;
}

static enum status write_new(const char *path, const void *bytes, size_t n, mode_t mode, struct error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_write(err, path);
    if (mode != 0 && fchmod(fd, mode) != 0) {
        const enum status s = fail_write(err, path);
        close(fd);
        return s;
    }
    return write_and_close(fd, path, bytes, n, true, err);
}

/* ---- removing ---- */

/* Runs on each name in a folder but "." and ".."; stops at the first that fails. */
static enum status each_name(const char *path, enum status (*visit)(int folder, const char *name, void *context),
                             void *context, struct error *err)
{
    /* O_NOFOLLOW: what a link points to is not ours to remove. */
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail_write(err, path);
    DIR *d = fdopendir(fd);
    if (!d) {
        const enum status s = fail_write(err, path);
        close(fd);
        return s;
    }
    enum status s = STATUS_OK;
    while (s == STATUS_OK) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e) {
            if (errno != 0)
                s = fail_write(err, path);
            break;
        }
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (visit(fd, e->d_name, context) != STATUS_OK)
            s = fail(err, STATUS_WRITE, "%s/%s: %s", path, e->d_name, strerror(errno));
    }
    closedir(d);
    return s;
}

static enum status visit_is_file(int folder, const char *name, void *context)
{
    (void)context;
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return STATUS_WRITE;
    if (!S_ISDIR(st.st_mode))
        return STATUS_OK;
    errno = EISDIR;
    return STATUS_WRITE;
}

static enum status visit_unlink(int folder, const char *name, void *context)
{
    (void)context;
    return unlinkat(folder, name, 0) == 0 ? STATUS_OK : STATUS_WRITE;
}

static enum status remove_now(const char *path, struct error *err)
{
    const enum status s = each_name(path, visit_unlink, NULL, err);
    if (s != STATUS_OK)
        return s;
    return rmdir(path) == 0 ? STATUS_OK : fail_write(err, path);
}

static void remove_temporary(const char *path)
{
    struct stat st;
    struct error ignored;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode))
        remove_now(path, &ignored);
    else
        unlink(path);
}

/* Does a file called `entry` look like a temporary of `name`'s kind, left by a process that is gone (or by an
 * earlier one with our number)? Names of one kind agree up to their first digit. */
static bool is_leftover(const char *entry, const char *name)
{
    if (entry[0] != '.')
        return false;
    const char *tail = NULL;
    for (const char *p = strstr(entry, ".tmp-"); p; p = strstr(p + 1, ".tmp-"))
        tail = p;
    if (!tail || tail <= entry + 1)
        return false;
    const char *digits = tail + strlen(".tmp-");
    if (digits[0] < '1' || digits[0] > '9' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    const size_t stem = strcspn(name, "0123456789"), length = (size_t)(tail - entry) - 1;
    const size_t entry_stem = strcspn(entry + 1, "0123456789");
    if ((entry_stem < length ? entry_stem : length) != stem || strncmp(entry + 1, name, stem) != 0)
        return false;
    errno = 0;
    const long long pid = strtoll(digits, NULL, 10);
    const pid_t maker = (pid_t)pid;
    if (errno != 0 || maker <= 0 || (long long)maker != pid)
        return true; /* no process can have this number */
    return maker == getpid() || (kill(maker, 0) != 0 && errno == ESRCH);
}

/* Leftovers are harmless, so one that cannot be removed is no reason to fail. */
void commit_sweep(const char *dir, const char *name)
{
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (is_leftover(e->d_name, name)) {
            char *path = commit_join(dir, e->d_name);
            if (path)
                remove_temporary(path);
            free(path);
        }
    closedir(d);
}

static enum status remove_split(const char *path, const char *dir, const char *name, struct error *err)
{
    char *hidden = temporary_path(dir, name);
    if (!hidden)
        return fail_memory(err, path);
    remove_temporary(hidden);
    enum status s = rename(path, hidden) == 0 ? STATUS_OK : fail_write(err, path);
    if (s == STATUS_OK)
        s = remove_now(hidden, err);
    free(hidden);
    return s;
}

enum status commit_remove_folder(const char *path, struct error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? STATUS_OK : fail_write(err, path);
    enum status s = each_name(path, visit_is_file, NULL, err);
    if (s != STATUS_OK)
        return s;
    char *dir, *name;
    if (!commit_split(&dir, &name, path))
        return fail_memory(err, path);
    s = remove_split(path, dir, name, err);
    free(dir);
    free(name);
    return s;
}

/* ---- moving ---- */

enum status commit_move_aside(const char *path, char **aside, struct error *err)
{
    if (aside)
        *aside = NULL;
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? STATUS_OK : fail_write(err, path);
    const size_t size = strlen(path) + 40;
    char *to = malloc(size);
    if (!to)
        return fail_memory(err, path);
    snprintf(to, size, "%s.old", path);
    for (unsigned long i = 2; lstat(to, &st) == 0; i++)
        snprintf(to, size, "%s.old-%lu", path, i);
    enum status s = STATUS_OK;
    if (errno != ENOENT || rename(path, to) != 0)
        s = fail(err, STATUS_WRITE, "%s: cannot be moved aside to %s: %s", path, to, strerror(errno));
    if (s == STATUS_OK && aside)
        *aside = to;
    else
        free(to);
    return s;
}

/* ---- folders ---- */

static void commit_clear(struct commit *c)
{
    free(c->final_path);
    free(c->work_path);
    *c = (struct commit){0};
}

enum status commit_begin(struct commit *c, const char *dir, const char *name, struct error *err)
{
    *c = (struct commit){.final_path = commit_join(dir, name), .work_path = temporary_path(dir, name)};
    enum status s = STATUS_OK;
    if (!c->final_path || !c->work_path) {
        s = fail_memory(err, dir);
    } else {
        commit_sweep(dir, name);
        if (mkdir(c->work_path, 0777) != 0)
            s = fail_write(err, c->work_path);
    }
    if (s != STATUS_OK)
        commit_clear(c);
    return s;
}

enum status commit_write(struct commit *c, const char *file, const void *bytes, size_t n, struct error *err)
{
    char *path = commit_join(c->work_path, file);
    if (!path)
        return fail_memory(err, file);
    const enum status s = write_new(path, bytes, n, 0, err);
    free(path);
    return s;
}

static enum status rename_into_place(const struct commit *c, struct error *err)
{
    char *aside;
    enum status s = commit_sync_folder(c->work_path, err);
    if (s == STATUS_OK)
        s = commit_move_aside(c->final_path, &aside, err);
    if (s != STATUS_OK)
        return s;
    if (rename(c->work_path, c->final_path) != 0) {
        s = fail(err, STATUS_WRITE, "%s: cannot be renamed to %s: %s", c->work_path, c->final_path, strerror(errno));
        if (aside && rename(aside, c->final_path) != 0)
            s = fail_within(err, s, "%s: now called %s", c->final_path, aside);
    }
    free(aside);
    return s;
}

static enum status sync_parent(const char *path, struct error *err)
{
    char *dir, *name;
    if (!commit_split(&dir, &name, path))
        return fail_memory(err, path);
    const enum status s = commit_sync_folder(dir, err);
    free(dir);
    free(name);
    return s;
}

enum status commit_finish(struct commit *c, struct error *err)
{
    enum status s = rename_into_place(c, err);
    if (s != STATUS_OK) {
        commit_abort(c);
        return s;
    }
    s = sync_parent(c->final_path, err);
    commit_clear(c);
    return s;
}

void commit_abort(struct commit *c)
{
    if (c->work_path)
        remove_temporary(c->work_path);
    commit_clear(c);
}

/* ---- single files and links ---- */

/* Where a chain of links ends, allocated: that is the file to replace, not the link to it. */
static enum status follow_links(char **end, const char *path, struct error *err)
{
    char *at = strdup(path);
    char target[4096];
    for (int i = 0; at && i < LINKS_AT_MOST; i++) {
        const ssize_t n = readlink(at, target, sizeof target - 1);
        if (n < 0) {
            *end = at;
            return STATUS_OK;
        }
        target[n] = '\0';
        char *dir = NULL, *name = NULL, *next = NULL;
        if (target[0] == '/')
            next = strdup(target);
        else if (commit_split(&dir, &name, at))
            next = commit_join(dir, target);
        free(dir);
        free(name);
        free(at);
        at = next;
    }
    if (!at)
        return fail_memory(err, path);
    free(at);
    return fail(err, STATUS_WRITE, "%s: more than %d links in a row", path, LINKS_AT_MOST);
}

static enum status write_beside(const char *path, const char *dir, const char *name, const void *bytes, size_t n,
                                mode_t mode, struct error *err)
{
    char *temporary = temporary_path(dir, name);
    if (!temporary)
        return fail_memory(err, path);
    commit_sweep(dir, name);
    enum status s = write_new(temporary, bytes, n, mode, err);
    if (s == STATUS_OK && rename(temporary, path) != 0)
        s = fail_write(err, path);
    if (s != STATUS_OK)
        unlink(temporary);
    free(temporary);
    return s == STATUS_OK ? commit_sync_folder(dir, err) : s;
}

static enum status replace_file(const char *path, const void *bytes, size_t n, mode_t mode, struct error *err)
{
    char *dir, *name;
    if (!commit_split(&dir, &name, path))
        return fail_memory(err, path);
    const enum status s = write_beside(path, dir, name, bytes, n, mode, err);
    free(dir);
    free(name);
    return s;
}

enum status commit_file(const char *path, const void *bytes, size_t n, struct error *err)
{
    struct stat st;
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return fail(err, STATUS_WRITE, "%s: is a folder, the name of a file was expected", path);
    if (exists && !S_ISREG(st.st_mode)) {
        /* Renaming over a device such as /dev/null would replace the device. */
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? fail_write(err, path) : write_and_close(fd, path, bytes, n, false, err);
    }
    if (exists && access(path, W_OK) != 0)
        return fail_write(err, path);
    char *end = NULL;
    enum status s = follow_links(&end, path, err);
    if (!end)
        return s;
    s = replace_file(end, bytes, n, exists ? st.st_mode & 0777 : 0, err);
    free(end);
    return s;
}

static enum status link_beside(const char *path, const char *temporary, const char *target, struct error *err)
{
    remove_temporary(temporary);
    if (symlink(target, temporary) != 0)
        return fail(err, STATUS_WRITE, "%s: cannot be made a symbolic link: %s", path, strerror(errno));
    if (rename(temporary, path) == 0)
        return STATUS_OK;
    const enum status s = fail_write(err, path);
    unlink(temporary);
    return s;
}

enum status commit_link(const char *dir, const char *link, const char *target, struct error *err)
{
    char *path = commit_join(dir, link), *temporary = temporary_path(dir, link);
    enum status s = STATUS_OK;
    if (!path || !temporary) {
        s = fail_memory(err, dir);
    } else {
        commit_sweep(dir, link);
        s = link_beside(path, temporary, target, err);
    }
    free(path);
    free(temporary);
    return s == STATUS_OK ? commit_sync_folder(dir, err) : s;
}
