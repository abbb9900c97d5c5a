#include "cli/output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/commit.h"

enum status output_file_check(const char *path, const char *command, struct error *err)
{
    struct stat about;
    char *dir, *name;
    if (!path)
        return STATUS_OK;
    if (*path == '\0')
        return fail(err, STATUS_USAGE, "%s: found nothing, expected the name of a file", command);
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return fail(err, STATUS_WRITE, "%s: %s is a folder, expected the name of a file", command, path);
    if (!commit_split(&dir, &name, path))
        return fail(err, STATUS_MEMORY, "%s: out of memory", command);
    const enum status s = access(dir, W_OK | X_OK) == 0
                              ? STATUS_OK
                              : fail(err, STATUS_WRITE, "%s: %s: %s", command, path, strerror(errno));
    free(dir);
    free(name);
    return s;
}

enum status output_file_write(const char *path, struct buffer *b, struct error *err)
{
    enum status s = buffer_check(b, path, err);
    if (!s)
        s = commit_file(path, b->bytes, b->count, err);
    buffer_free(b);
    return s;
}
