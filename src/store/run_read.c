#include "store/run_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/run.h"

/* A run that outpaces its reader this often in a row saves faster than anything can be read. */
#define TRIES 100
/* A folder can go away and be back before it is looked at again. So a failure is believed when it has come so often in
 * a row from a folder that is still there. */
#define BELIEVED 2

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
    for (int i = 0, failed = 0; i < TRIES; i++) {
        char *folder;
        struct stat before;
        s = run_find(&folder, run, err);
        if (s != STATUS_OK)
            return s;
        const bool there = stat(folder, &before) == 0;
        s = checkpoint_read(c, folder, with_optimizer, err);
        failed = there && is_same_folder(&before, folder) ? failed + 1 : 0;
        const bool stands = s == STATUS_OK || failed == BELIEVED;
        if (s != STATUS_OK && stands && strcmp(folder, run) != 0)
            s = name_step_before(s, folder, err);
        free(folder);
        if (stands)
            break;
    }
    return s;
}
