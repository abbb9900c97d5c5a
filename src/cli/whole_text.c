#include "cli/whole_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status read_all(struct whole_text *t, FILE *f, const char *option, struct error *err)
{
    size_t room = 0;
    for (;;) {
        if (t->size == room) {
            room = room ? 2 * room : 4096;
            char *grown = realloc(t->bytes, room);
            if (!grown)
                return fail(err, STATUS_MEMORY, "%s: %s: out of memory", option, t->name);
            t->bytes = grown;
        }
        const size_t n = fread(t->bytes + t->size, 1, room - t->size, f);
        t->size += n;
        if (n == 0)
            break;
    }
    return ferror(f) ? fail(err, STATUS_READ, "%s: %s: %s", option, t->name, strerror(errno)) : STATUS_OK;
}

enum status whole_text_read(struct whole_text *t, const char *words, const char *word_option, const char *path,
                            const char *path_option, struct error *err)
{
    *t = (struct whole_text){0};
    if (words && path)
        return fail(err, STATUS_USAGE, "%s and %s exclude one another: give one", word_option, path_option);
    if (!path) {
        t->name = word_option;
        t->bytes = strdup(words ? words : "");
        t->size = t->bytes ? strlen(t->bytes) : 0;
        return t->bytes ? STATUS_OK : fail(err, STATUS_MEMORY, "out of memory");
    }
    const bool standard = strcmp(path, "-") == 0;
    t->name = standard ? "standard input" : path;
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f)
        return fail(err, STATUS_OPEN, "%s: %s: %s", path_option, t->name, strerror(errno));
    const enum status s = read_all(t, f, path_option, err);
    if (!standard)
        fclose(f);
    return s;
}

void whole_text_free(struct whole_text *t)
{
    free(t->bytes);
    *t = (struct whole_text){0};
}
