/* Runs the program under ptrace and lets one of its calls of the system fail, come short, or be its last. Counting
 * begins with the program's own first call (main asks after its standard streams), so that what the loader and the
 * libraries' constructors do is left alone. Linux on x86-64; elsewhere nothing can be injected. */
#ifndef SUPPORT_INJECTOR_H
#define SUPPORT_INJECTOR_H

#include <stdbool.h>
#include <stddef.h>

enum injector_call {
    INJECTOR_READ,
    INJECTOR_WRITE,
    INJECTOR_NOTE, /* a write to stderr */
    INJECTOR_OPEN,
    INJECTOR_CLOSE,
    INJECTOR_SYNC,
    INJECTOR_RENAME,
    INJECTOR_MKDIR,
    INJECTOR_SYMLINK,
    INJECTOR_UNLINK, /* rmdir too */
    INJECTOR_TRUNCATE,
    INJECTOR_STAT,
    INJECTOR_LIST,
    INJECTOR_READLINK,
    INJECTOR_LOCK, /* fcntl */
    INJECTOR_MAP,
    INJECTOR_THREAD,
    INJECTOR_CALLS
};

extern const char *const injector_names[INJECTOR_CALLS];

enum injector_action {
    INJECTOR_NOTHING,
    INJECTOR_FAIL,        /* with `error`, not done */
    INJECTOR_FAIL_ON,     /* this one and all later ones of its kind */
    INJECTOR_SHORT,       /* read and write: half of what was asked */
    INJECTOR_KILL_BEFORE, /* SIGKILL instead of the call */
    INJECTOR_KILL_AFTER,  /* SIGKILL once it is done */
    INJECTOR_SIGNALS,     /* SIGINT, and SIGTERM at the next call of the kind */
};

/* A call that was made, with the names of its files (whole for descriptors, as given for paths). */
struct injector_event {
    enum injector_call call;
    const char *path, *other; /* other: where a rename leads to */
    bool done;                /* it succeeded */
};

struct injector {
    /* What to do: */
    const char *const *argv; /* ending in NULL */
    const char *preload;     /* LD_PRELOAD, or NULL */
    int in, out, err;        /* descriptors that become its standard streams */
    enum injector_call call;
    size_t number; /* of the calls of this kind, from 1 */
    enum injector_action action;
    int error;
    void (*seen)(void *context, const struct injector_event *e); /* every counted call, or NULL */
    void *context;

    /* What happened: */
    size_t counts[INJECTOR_CALLS];
    bool reached; /* the call was made */
    int status;   /* exit status; 128 + n when signal n ended it, SIGALRM after 20 seconds */
};

bool injector_available(void);

/* False when the program cannot be started or followed. */
bool injector_run(struct injector *i);

#endif
