#include "io/tempdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/commit.h"

enum status tempdir_make(char **path, const char *parent, struct error *err)
{
    *path = commit_join(parent, "nopeek-XXXXXX");
    if (!*path)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a path", parent);
    if (mkdtemp(*path))
        return STATUS_OK;
    const enum status s =
        fail(err, STATUS_WRITE, "%s: no folder for temporary files can be made in it: %s", parent, strerror(errno));
    free(*path);
    *path = NULL;
    return s;
}

void tempdir_remove(const char *path)
{
    struct stat st;
    if (!path || lstat(path, &st) != 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        unlink(path);
        return;
    }
    DIR *d = opendir(path);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *inner = commit_join(path, e->d_name);
        tempdir_remove(inner);
        free(inner);
    }
    if (d)
        closedir(d);
    rmdir(path);
}
