/* Files and folders that appear whole or not at all: written under a temporary name beside their
 * place, synced to disk, then renamed. The rename is the commit. */
#ifndef IO_COMMIT_H
#define IO_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A folder under construction. */
struct commit {
    char *final_path; /* DIR/NAME */
    char *work_path;  /* DIR/.NAME.tmp-PID: what is written into until commit_finish */
};

/* Starts DIR/NAME. Temporary leftovers whose names agree up to the first digit are removed when the process
 * that made them is gone or is this one. STATUS_WRITE, STATUS_MEMORY; then c is empty. */
enum status commit_begin(struct commit *c, const char *dir, const char *name, struct error *err);

/* Writes one file of the folder and syncs it. STATUS_WRITE with path and reason (a full disk too), STATUS_MEMORY. */
enum status commit_write(struct commit *c, const char *file, const void *bytes, size_t n, struct error *err);

/* Syncs the folder, renames it to DIR/NAME, syncs DIR. A DIR/NAME that exists is moved aside first, to
 * DIR/NAME.old (then .old-2, ...), and back should the rename fail. On failure the temporary folder is removed.
 * Frees c's paths. STATUS_WRITE, STATUS_MEMORY. */
enum status commit_finish(struct commit *c, struct error *err);

/* Gives up: removes the temporary folder, frees c's paths. Does nothing to an empty c. */
void commit_abort(struct commit *c);

/* One file, whole or not at all: a regular file at `path` is replaced and its permissions are kept, a link is
 * followed; a pipe or device is written to as it is. STATUS_WRITE, STATUS_MEMORY. */
enum status commit_file(const char *path, const void *bytes, size_t n, struct error *err);

/* DIR/LINK -> target (relative), atomically replacing a link or file that is there. STATUS_WRITE, STATUS_MEMORY. */
enum status commit_link(const char *dir, const char *link, const char *target, struct error *err);

/* Renames `path` to path.old (then .old-2, ...); *aside, when not NULL, is the new path (allocated). Missing is
 * fine: *aside = NULL. STATUS_WRITE, STATUS_MEMORY. */
enum status commit_move_aside(const char *path, char **aside, struct error *err);

/* Removes a folder of plain files (one level); one that holds a folder is refused and left whole. It first
 * becomes a temporary leftover, so that a half-removed folder is never taken for a whole one. Missing is fine.
 * STATUS_WRITE, STATUS_MEMORY. */
enum status commit_remove_folder(const char *path, struct error *err);

/* Removes what commit_begin(dir, name) would: temporary leftovers of processes that are gone. */
void commit_sweep(const char *dir, const char *name);

/* Syncs the names in a folder, after a rename in it. STATUS_WRITE. */
enum status commit_sync_folder(const char *path, struct error *err);

/* DIR/NAME, allocated; NULL when memory is refused. */
char *commit_join(const char *dir, const char *name);

/* The other way: *dir is "." when path has none, *name lacks closing slashes. Both allocated; false, and both NULL,
 * when memory is refused. */
bool commit_split(char **dir, char **name, const char *path);

#endif
