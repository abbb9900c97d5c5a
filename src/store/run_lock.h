/* One process at a time trains in a run directory: what it holds is a record lock on RUN/.nopeek-lock. The system drops
 * the lock however its holder ends, by SIGKILL too; a file that was left behind locks nothing. Whoever only reads a run
 * takes no lock. Within one process a second lock on the same run is granted, and letting go of either lets go of
 * both: that is how record locks are. */
#ifndef STORE_RUN_LOCK_H
#define STORE_RUN_LOCK_H

#include <stdbool.h>

#include "base/status.h"

/* A zeroed one holds nothing. */
struct run_lock {
    char *path; /* DIR/.nopeek-lock, or NULL when nothing is held */
    int fd;
    bool refused_by_system; /* its file system knows no locks: nothing is held, and nobody else is kept out */
};

/* Locks the existing folder dir. STATUS_OPEN when another process holds it (named by its number) or DIR/.nopeek-lock is
 * no regular file, STATUS_WRITE, STATUS_MEMORY; then nothing is held and nothing was changed. A file system without
 * locks is no error: see the field. */
enum status run_lock_take(struct run_lock *l, const char *dir, struct error *err);

/* Locks the run directory that RUN (as for run_find) or its highest checkpoint stands in; a checkpoint that stands
 * alone needs none. Errors as run_find and run_lock_take. */
enum status run_lock_resumed(struct run_lock *l, const char *run, struct error *err);

/* Whether another process trains in dir, as far as can be seen: false too where there is no telling. */
bool run_lock_held(const char *dir);

/* Lets go and removes the file. Does nothing to a lock that is not held. */
void run_lock_release(struct run_lock *l);

#endif
