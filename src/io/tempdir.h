/* A folder for files that are wanted for a while. */
#ifndef IO_TEMPDIR_H
#define IO_TEMPDIR_H

#include "base/status.h"

/* Makes PARENT/nopeek-XXXXXX, readable by its owner alone; *path is allocated. STATUS_WRITE, STATUS_MEMORY. */
enum status tempdir_make(char **path, const char *parent, struct error *err);

/* Removes a folder and all in it, following no link; NULL is fine. What cannot be removed is left. */
void tempdir_remove(const char *path);

#endif
