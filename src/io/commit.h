/* Files and folders that appear whole or not at all: written under a temporary name beside their
 * place, synced to disk, then renamed. The rename is the commit. */
#ifndef IO_COMMIT_H
#define IO_COMMIT_H

#include <stddef.h>

#include "base/status.h"

/* A folder under construction. */
struct commit {
    char *final_path; /* DIR/NAME */
    char *work_path;  /* DIR/.NAME.tmp-PID: what is written into until commit_finish */
};

/* Starts DIR/NAME; a leftover temporary folder of the same name is removed. STATUS_WRITE, STATUS_MEMORY. */
enum status commit_begin(struct commit *c, const char *dir, const char *name, struct error *err);

/* Writes one file of the folder and syncs it. STATUS_WRITE with path and reason (a full disk too). */
enum status commit_write(struct commit *c, const char *file, const void *bytes, size_t n, struct error *err);

/* Syncs the folder, renames it to DIR/NAME, syncs DIR. A DIR/NAME that exists is moved aside first, to
 * DIR/NAME.old (then .old-2, ...). On failure the temporary folder is removed. Frees c's paths. */
enum status commit_finish(struct commit *c, struct error *err);

/* Gives up: removes the temporary folder, frees c's paths. */
void commit_abort(struct commit *c);

/* One file, whole or not at all. */
enum status commit_file(const char *path, const void *bytes, size_t n, struct error *err);

/* DIR/LINK -> target (relative), replacing what is there atomically. */
enum status commit_link(const char *dir, const char *link, const char *target, struct error *err);

/* Removes a folder of plain files (one level). Missing is fine. */
enum status commit_remove_folder(const char *path, struct error *err);

#endif
