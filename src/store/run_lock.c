#include "store/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/commit.h"
#include "store/run.h"

#define LOCK_FILE ".nopeek-lock"

/* The whole file, however long. */
static struct flock whole(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static int lock_descriptor(int fd)
{
    const struct flock wanted = whole();
    int r;
    do
        r = fcntl(fd, F_SETLK, &wanted);
    while (r != 0 && errno == EINTR);
    return r;
}

static enum status fail_held(int fd, const char *dir, struct error *err)
{
    struct flock holder = whole();
    /* In another container, or over a network, it may have no number here. */
    if (fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK && holder.l_pid > 0)
        return fail(err, STATUS_OPEN,
                    "%s: process %jd is training in it: wait for it, or end it with kill %jd (it saves first), or name "
                    "another run directory",
                    dir, (intmax_t)holder.l_pid, (intmax_t)holder.l_pid);
    return fail(err, STATUS_OPEN,
                "%s: another process is training in it: wait for it, or end it (it saves first), or name another run "
                "directory",
                dir);
}

static enum status open_lock(int *fd, const char *path, struct error *err)
{
    do
        *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0 && errno == ELOOP)
        return fail(err, STATUS_OPEN, "%s: is a link, a file of the run's own was expected: delete it", path);
    if (*fd < 0)
        return fail(err, STATUS_WRITE, "%s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return STATUS_OK;
    close(*fd);
    return fail(err, STATUS_OPEN, "%s: is no regular file: delete it", path);
}

/* Between opening and locking the file may have been removed by the one who held it; its lock then guards nothing. */
static bool is_still_there(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static bool knows_no_locks(int why)
{
    return why == ENOLCK || why == ENOSYS || why == ENOTSUP || why == EINVAL;
}

/* One try; *again asks for another. */
static enum status try_lock(struct run_lock *l, bool *again, const char *dir, struct error *err)
{
    *again = false;
    enum status s = open_lock(&l->fd, l->path, err);
    if (s != STATUS_OK)
        return s;
    if (lock_descriptor(l->fd) == 0) {
        *again = !is_still_there(l->fd, l->path);
    } else if (knows_no_locks(errno)) {
        l->refused_by_system = true;
        unlink(l->path);
    } else if (errno == EACCES || errno == EAGAIN) {
        s = fail_held(l->fd, dir, err);
    } else {
        s = fail(err, STATUS_WRITE, "%s: cannot be locked: %s", l->path, strerror(errno));
    }
    if (*again || l->refused_by_system || s != STATUS_OK)
        close(l->fd);
    return s;
}

enum status run_lock_take(struct run_lock *l, const char *dir, struct error *err)
{
    *l = (struct run_lock){.path = commit_join(dir, LOCK_FILE)};
    if (!l->path)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a path", dir);
    enum status s = STATUS_OK;
    for (bool again = true; s == STATUS_OK && again;)
        s = try_lock(l, &again, dir, err);
    if (s != STATUS_OK || l->refused_by_system) {
        free(l->path);
        l->path = NULL;
    }
    return s;
}

enum status run_lock_resumed(struct run_lock *l, const char *run, struct error *err)
{
    *l = (struct run_lock){0};
    char *folder, *dir = NULL;
    enum status s = run_find(&folder, run, err);
    if (s == STATUS_OK)
        s = run_of_checkpoint(&dir, folder, err);
    if (dir)
        s = run_lock_take(l, dir, err);
    free(dir);
    free(folder);
    return s;
}

bool run_lock_held(const char *dir)
{
    char *path = commit_join(dir, LOCK_FILE);
    const int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    struct flock holder = whole();
    const bool held = fd >= 0 && fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    free(path);
    return held;
}

void run_lock_release(struct run_lock *l)
{
    if (l->path) {
        /* While it is held: afterwards the file may be another's. */
        unlink(l->path);
        close(l->fd);
        free(l->path);
    }
    *l = (struct run_lock){0};
}
