#include "io/lines.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM ((size_t)64 << 10)

enum status lines_open(struct lines *l, const char *path, size_t most, struct error *err)
{
    *l = (struct lines){.most = most, .room = FIRST_ROOM < most + 1 ? FIRST_ROOM : most + 1};
    enum status s = file_open(&l->file, path, err);
    if (s != STATUS_OK)
        return s;
    l->buffer = malloc(l->room);
    if (!l->buffer) {
        lines_close(l);
        return fail(err, STATUS_MEMORY, "%s: no memory left for its lines", path);
    }
    return STATUS_OK;
}

void lines_close(struct lines *l)
{
    free(l->buffer);
    file_close(&l->file);
    *l = (struct lines){0};
}

/* Room for more of the present line: what was given out goes, then the buffer doubles, up to most + 1 bytes. */
static enum status make_room(struct lines *l, struct error *err)
{
    memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->begin = 0;
    if (l->end < l->room)
        return STATUS_OK;
    const size_t room = l->room <= l->most / 2 ? 2 * l->room : l->most + 1;
    assert(room > 0); /* a limit of SIZE_MAX would be none */
    uint8_t *larger = realloc(l->buffer, room);
    if (!larger)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a line of more than %zu bytes", l->file.path, l->room);
    l->buffer = larger;
    l->room = room;
    return STATUS_OK;
}

static enum status fill(struct lines *l, struct error *err)
{
    const size_t left = l->file.size - l->at, free_room = l->room - l->end, n = left < free_room ? left : free_room;
    const enum status s = file_read(&l->file, l->buffer + l->end, n, l->at, err);
    if (s == STATUS_OK) {
        l->end += n;
        l->at += n;
    }
    return s;
}

enum status lines_next(struct line *line, bool *more, struct lines *l, struct error *err)
{
    size_t passed = 0; /* bytes of a line that is too long, gone already */
    size_t seen = 0;   /* of the buffer, known to hold no line end */
    *line = (struct line){0};
    for (;;) {
        const uint8_t *start = l->buffer + l->begin;
        const size_t held = l->end - l->begin;
        const uint8_t *end = memchr(start + seen, '\n', held - seen);
        const bool last = !end && l->at == l->file.size;
        if (end || last) {
            const size_t n = end ? (size_t)(end - start) : held;
            l->begin += n + (end ? 1 : 0);
            *more = end || passed + n > 0;
            *line = (struct line){passed + n > l->most ? NULL : start, passed + n, end != NULL};
            return STATUS_OK;
        }
        seen = held;
        if (held > l->most || passed > 0) {
            passed += held;
            l->begin = l->end;
            seen = 0;
        }
        enum status s = make_room(l, err);
        if (s == STATUS_OK)
            s = fill(l, err);
        if (s != STATUS_OK)
            return s;
    }
}
