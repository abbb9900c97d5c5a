#if defined __linux__ && defined __x86_64__
#define _GNU_SOURCE
#endif
#include "support/injector.h"

const char *const injector_names[INJECTOR_CALLS] = {"read",   "write",    "note",    "open",   "close",    "sync",
                                                    "rename", "mkdir",    "symlink", "unlink", "truncate", "stat",
                                                    "list",   "readlink", "lock",    "map",    "thread"};

#if defined __linux__ && defined __x86_64__

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 64
#define SECONDS_AT_MOST 20
#define NAME_SIZE 4096

struct task {
    pid_t tid;
    bool inside;  /* between the entry of a call and its end */
    bool counted; /* a call of a kind that counts */
    bool failing;
    enum injector_call call;
    struct user_regs_struct entry;
};

struct chase {
    struct injector *i;
    pid_t pid;
    bool began;    /* main has */
    bool finished; /* nothing more to be done: it runs on by itself */
    size_t tasks;
    struct task task[THREADS];
};

bool injector_available(void)
{
    return true;
}

static bool kind_of(enum injector_call *call, const struct user_regs_struct *r)
{
    static const struct {
        long number;
        enum injector_call call;
    } kinds[] = {
        {SYS_read, INJECTOR_READ},         {SYS_pread64, INJECTOR_READ},        {SYS_write, INJECTOR_WRITE},
        {SYS_pwrite64, INJECTOR_WRITE},    {SYS_writev, INJECTOR_WRITE},        {SYS_open, INJECTOR_OPEN},
        {SYS_openat, INJECTOR_OPEN},       {SYS_close, INJECTOR_CLOSE},         {SYS_fsync, INJECTOR_SYNC},
        {SYS_fdatasync, INJECTOR_SYNC},    {SYS_rename, INJECTOR_RENAME},       {SYS_renameat, INJECTOR_RENAME},
        {SYS_renameat2, INJECTOR_RENAME},  {SYS_mkdir, INJECTOR_MKDIR},         {SYS_mkdirat, INJECTOR_MKDIR},
        {SYS_symlink, INJECTOR_SYMLINK},   {SYS_symlinkat, INJECTOR_SYMLINK},   {SYS_unlink, INJECTOR_UNLINK},
        {SYS_unlinkat, INJECTOR_UNLINK},   {SYS_rmdir, INJECTOR_UNLINK},        {SYS_ftruncate, INJECTOR_TRUNCATE},
        {SYS_stat, INJECTOR_STAT},         {SYS_lstat, INJECTOR_STAT},          {SYS_fstat, INJECTOR_STAT},
        {SYS_newfstatat, INJECTOR_STAT},   {SYS_statx, INJECTOR_STAT},          {SYS_getdents64, INJECTOR_LIST},
        {SYS_readlink, INJECTOR_READLINK}, {SYS_readlinkat, INJECTOR_READLINK}, {SYS_fcntl, INJECTOR_LOCK},
        {SYS_mmap, INJECTOR_MAP},          {SYS_clone, INJECTOR_THREAD},        {SYS_clone3, INJECTOR_THREAD},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (kinds[k].number == (long)r->orig_rax) {
            *call = kinds[k].call == INJECTOR_WRITE && r->rdi == 2 ? INJECTOR_NOTE : kinds[k].call;
            return true;
        }
    return false;
}

static void read_text(char out[NAME_SIZE], pid_t tid, unsigned long long at)
{
    size_t n = 0;
    while (n + sizeof(long) < NAME_SIZE) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, tid, (void *)(at + n), NULL);
        if (errno != 0)
            break;
        memcpy(out + n, &word, sizeof word);
        if (memchr(out + n, '\0', sizeof word))
            return;
        n += sizeof word;
    }
    out[n] = '\0';
}

static void descriptor_name(char out[NAME_SIZE], pid_t pid, int fd)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, fd);
    const ssize_t n = readlink(link, out, NAME_SIZE - 1);
    out[n > 0 ? n : 0] = '\0';
}

/* Called at its entry: afterwards a closed descriptor has no name any more. */
static void tell(const struct chase *c, const struct task *t)
{
    static char path[NAME_SIZE], other[NAME_SIZE];
    const struct user_regs_struct *r = &t->entry;
    path[0] = other[0] = '\0';
    switch ((long)r->orig_rax) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_read:
    case SYS_pread64:
    case SYS_close:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
        descriptor_name(path, c->pid, (int)r->rdi);
        break;
    case SYS_rename:
    case SYS_symlink:
        read_text(path, t->tid, r->rdi);
        read_text(other, t->tid, r->rsi);
        break;
    case SYS_renameat:
    case SYS_renameat2:
        read_text(path, t->tid, r->rsi);
        read_text(other, t->tid, r->r10);
        break;
    case SYS_mkdir:
    case SYS_open:
    case SYS_unlink:
    case SYS_rmdir:
        read_text(path, t->tid, r->rdi);
        break;
    case SYS_openat:
    case SYS_mkdirat:
    case SYS_unlinkat:
        read_text(path, t->tid, r->rsi);
        break;
    default:
        break;
    }
    const struct injector_event e = {t->call, path, other, !t->failing};
    c->i->seen(c->i->context, &e);
}

static void set(pid_t tid, struct user_regs_struct *r)
{
    ptrace(PTRACE_SETREGS, tid, NULL, r);
}

static void fail_call(struct task *t)
{
    struct user_regs_struct r = t->entry;
    r.orig_rax = (unsigned long long)-1;
    set(t->tid, &r);
    t->failing = true;
}

static void act(struct chase *c, struct task *t, size_t number)
{
    const struct injector *i = c->i;
    struct user_regs_struct r = t->entry;
    switch (i->action) {
    case INJECTOR_FAIL:
    case INJECTOR_FAIL_ON:
        fail_call(t);
        break;
    case INJECTOR_SHORT:
        r.rdx = r.rdx > 1 ? r.rdx / 2 : r.rdx;
        set(t->tid, &r);
        break;
    case INJECTOR_KILL_BEFORE:
        kill(c->pid, SIGKILL);
        break;
    case INJECTOR_SIGNALS:
        kill(c->pid, number == i->number ? SIGINT : SIGTERM);
        break;
    case INJECTOR_KILL_AFTER:
    case INJECTOR_NOTHING:
        break;
    }
}

static bool concerns(const struct injector *i, size_t number)
{
    return number == i->number || (i->action == INJECTOR_FAIL_ON && number > i->number) ||
           (i->action == INJECTOR_SIGNALS && number == i->number + 1);
}

static void enter(struct chase *c, struct task *t)
{
    struct injector *i = c->i;
    t->counted = t->failing = false;
    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &t->entry) != 0)
        return;
    /* fcntl(0, F_GETFD), the first thing that main does */
    if (!c->began && (long)t->entry.orig_rax == SYS_fcntl && t->entry.rdi == 0 && t->entry.rsi == F_GETFD)
        c->began = true;
    if (!c->began || !kind_of(&t->call, &t->entry))
        return;
    t->counted = true;
    const size_t number = ++i->counts[t->call];
    if (i->number > 0 && t->call == i->call && concerns(i, number)) {
        i->reached = true;
        act(c, t, number);
    }
    if (i->seen)
        tell(c, t);
}

static void leave(struct chase *c, struct task *t)
{
    struct injector *i = c->i;
    if (!t->counted)
        return;
    const bool hit = i->number > 0 && t->call == i->call && i->counts[t->call] >= i->number && i->reached;
    if (t->failing) {
        struct user_regs_struct r = t->entry;
        r.rax = (unsigned long long)-i->error;
        set(t->tid, &r);
    }
    if (hit && i->action == INJECTOR_KILL_AFTER)
        kill(c->pid, SIGKILL);
    c->finished |= hit && (i->action == INJECTOR_FAIL || i->action == INJECTOR_SHORT) && !i->seen;
}

static struct task *task_of(struct chase *c, pid_t tid)
{
    for (size_t k = 0; k < c->tasks; k++)
        if (c->task[k].tid == tid)
            return &c->task[k];
    if (c->tasks == THREADS)
        return NULL;
    c->task[c->tasks] = (struct task){.tid = tid};
    return &c->task[c->tasks++];
}

static void drop_task(struct chase *c, pid_t tid)
{
    for (size_t k = 0; k < c->tasks; k++)
        if (c->task[k].tid == tid)
            c->task[k] = c->task[--c->tasks];
}

/* One that is alone is let go altogether: LeakSanitizer cannot work in a process that is followed. */
static void go_on(struct chase *c, pid_t tid, int by_signal)
{
    const long with = by_signal;
    if (c->finished && c->tasks == 1 && ptrace(PTRACE_DETACH, tid, NULL, (void *)with) == 0)
        return;
    ptrace(c->finished ? PTRACE_CONT : PTRACE_SYSCALL, tid, NULL, (void *)with);
}

static void follow(struct chase *c)
{
    for (;;) {
        int status;
        const pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR)
            continue;
        if (tid < 0)
            return;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            drop_task(c, tid);
            if (tid != c->pid)
                continue;
            c->i->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            return;
        }
        struct task *t = task_of(c, tid);
        const int by = WSTOPSIG(status);
        if (by == (SIGTRAP | 0x80) && t && !c->finished) {
            t->inside = !t->inside;
            if (t->inside)
                enter(c, t);
            else
                leave(c, t);
        }
        const bool ours = by == (SIGTRAP | 0x80) || by == SIGTRAP || (by == SIGSTOP && t && !t->inside);
        go_on(c, tid, ours ? 0 : by);
    }
}

static void become_program(const struct injector *i)
{
    dup2(i->in, 0);
    dup2(i->out, 1);
    dup2(i->err, 2);
    if (i->preload)
        setenv("LD_PRELOAD", i->preload, 1);
    /* One thread alone can be let go: no workers that OpenBLAS starts when it is loaded. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    /* LeakSanitizer ends with an error of its own in a process that is followed to its end. */
    const char *const options = getenv("ASAN_OPTIONS");
    char all[4096];
    snprintf(all, sizeof all, "%s%sdetect_leaks=0", options ? options : "", options ? ":" : "");
    if (i->seen || (i->action != INJECTOR_FAIL && i->action != INJECTOR_SHORT))
        setenv("ASAN_OPTIONS", all, 1);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    alarm(SECONDS_AT_MOST);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        execv(i->argv[0], (char *const *)i->argv);
    _exit(127);
}

bool injector_run(struct injector *i)
{
    memset(i->counts, 0, sizeof i->counts);
    i->reached = false;
    i->status = -1;
    fflush(NULL);
    struct chase c = {.i = i, .pid = fork()};
    if (c.pid == 0)
        become_program(i);
    int status;
    if (c.pid < 0 || waitpid(c.pid, &status, 0) != c.pid || !WIFSTOPPED(status))
        return false;
    task_of(&c, c.pid);
    const long options =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, c.pid, NULL, (void *)options) != 0 ||
        ptrace(PTRACE_SYSCALL, c.pid, NULL, NULL) != 0) {
        kill(c.pid, SIGKILL);
        waitpid(c.pid, &status, 0);
        return false;
    }
    follow(&c);
    return i->status >= 0;
}

#else

bool injector_available(void)
{
    return false;
}

bool injector_run(struct injector *i)
{
    i->status = -1;
    return false;
}

#endif
