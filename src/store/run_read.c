#include "store/run_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/run.h"

/* A run that outpaces its reader this often in a row saves faster than anything can be read. */
#define TRIES 100

static bool is_same_folder(const struct stat *before, const char *path)
{
    struct stat now;
    return stat(path, &now) == 0 && now.st_dev == before->st_dev && now.st_ino == before->st_ino;
}

/* A run whose last checkpoint cannot be used is not gone on with from an earlier one unasked; but which one there is.
 */
static enum status name_step_before(enum status s, const char *folder, struct error *err)
{
    char *before = run_step_before(folder);
    if (before) {
        const struct error why = *err;
        fail(err, s, "%s; the step before it is %s", why.message, before);
    }
    free(before);
    return s;
}

enum status run_read(struct checkpoint *c, const char *run, bool with_optimizer, struct error *err)
{
    *c = (struct checkpoint){0};
    enum status s = STATUS_OK;
    for (int i = 0; i < TRIES; i++) {
        char *folder;
        struct stat before;
        s = run_find(&folder, run, err);
        if (s != STATUS_OK)
            return s;
        const bool there = stat(folder, &before) == 0;
        s = checkpoint_read(c, folder, with_optimizer, err);
        const bool disturbed = s != STATUS_OK && !(there && is_same_folder(&before, folder));
        if (s != STATUS_OK && !disturbed && strcmp(folder, run) != 0)
            s = name_step_before(s, folder, err);
        free(folder);
        if (!disturbed)
            break;
    }
    return s;
}
