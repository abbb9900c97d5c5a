#include "text/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_standard_input(const struct source *s)
{
    return strcmp(s->path, "-") == 0;
}

static enum status too_long(const struct source *s, struct error *err)
{
    return fail(err, STATUS_RANGE, "%s: more than %llu bytes; train on a part of it", s->name,
                (unsigned long long)SOURCE_LIMIT);
}

static enum status changed(const struct source *s, struct error *err)
{
    return fail(err, STATUS_READ, "%s: changed while it was being read; try again when nothing writes to it", s->name);
}

static enum status open_descriptor(struct source *s, struct error *err)
{
    if (is_standard_input(s)) {
        s->fd = STDIN_FILENO;
        return STATUS_OK;
    }
    do
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    while (s->fd < 0 && errno == EINTR);
    if (s->fd < 0)
        return fail(err, STATUS_OPEN, "%s: cannot be opened: %s", s->name, strerror(errno));
    return STATUS_OK;
}

static void unmap(struct source *s)
{
    if (s->map)
        munmap(s->map, s->map_size);
    s->map = NULL;
}

void source_rest(struct source *s)
{
    unmap(s);
    if (s->fd >= 0 && !is_standard_input(s))
        close(s->fd);
    s->fd = -1;
}

void source_close(struct source *s)
{
    source_rest(s);
    free(s->buffer);
    s->buffer = NULL;
}

/* Reads until the end into a buffer that doubles; it is cut to size at the end. */
static enum status read_whole(struct source *s, struct error *err)
{
    size_t room = (size_t)64 << 10, size = 0;
    uint8_t *buffer = malloc(room);
    enum status status = STATUS_OK;
    while (buffer && status == STATUS_OK) {
        if (size == room) {
            uint8_t *larger = room <= SIZE_MAX / 2 ? realloc(buffer, 2 * room) : NULL;
            if (!larger) {
                status = fail(err, STATUS_MEMORY, "%s: no memory beyond its first %zu bytes", s->name, size);
                break;
            }
            buffer = larger;
            room *= 2;
        }
        const ssize_t got = read(s->fd, buffer + size, room - size);
        if (got == 0)
            break;
        if (got > 0)
            size += (size_t)got;
        else if (errno != EINTR)
            status = fail(err, STATUS_READ, "%s: cannot be read: %s", s->name, strerror(errno));
        if (size > SOURCE_LIMIT)
            status = too_long(s, err);
    }
    if (!buffer)
        return fail(err, STATUS_MEMORY, "%s: no memory to read it", s->name);
    if (status != STATUS_OK) {
        free(buffer);
        return status;
    }
    uint8_t *exact = realloc(buffer, size > 0 ? size : 1);
    s->buffer = exact ? exact : buffer;
    s->size = size;
    return STATUS_OK;
}

/* Maps the window at `at`; false when the system refuses. */
static bool map_window(struct source *s, const uint8_t **bytes, size_t *n, size_t at)
{
    unmap(s);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t from = (size_t)s->start + at, skip = from % page;
    const size_t left = s->size - at;
    s->map_size = skip + (left < SOURCE_WINDOW ? left : SOURCE_WINDOW);
    void *map = mmap(NULL, s->map_size, PROT_READ, MAP_PRIVATE, s->fd, (off_t)(from - skip));
    if (map == MAP_FAILED)
        return false;
    s->map = map;
    *bytes = (const uint8_t *)map + skip;
    *n = s->map_size - skip;
    return true;
}

/* Finds size, position and identity of a regular file; false when there is nothing to map: the file is empty, or
 * one of those that the system makes up as they are read and whose size it does not know. */
static enum status measure(struct source *s, const struct stat *st, bool *mappable, struct error *err)
{
    *mappable = false;
    s->device = st->st_dev;
    s->file = st->st_ino;
    s->start = is_standard_input(s) ? lseek(s->fd, 0, SEEK_CUR) : 0;
    if (s->start < 0 || st->st_size <= s->start)
        return STATUS_OK;
    const uint64_t size = (uint64_t)(st->st_size - s->start);
    if (size > SOURCE_LIMIT || (uint64_t)st->st_size > SIZE_MAX - SOURCE_WINDOW)
        return too_long(s, err);
    s->size = (size_t)size;
    const uint8_t *bytes;
    size_t n;
    *mappable = map_window(s, &bytes, &n, 0);
    return STATUS_OK;
}

static enum status source_examine(struct source *s, struct error *err)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return fail(err, STATUS_OPEN, "%s: cannot be examined: %s", s->name, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a directory; name the text files in it", s->name);
    bool mappable = false;
    if (S_ISREG(st.st_mode)) {
        const enum status status = measure(s, &st, &mappable, err);
        if (status != STATUS_OK)
            return status;
    }
    return mappable ? STATUS_OK : read_whole(s, err);
}

enum status source_open(struct source *s, const char *path, struct error *err)
{
    *s = (struct source){.path = path, .name = path, .fd = -1};
    if (is_standard_input(s))
        s->name = SOURCE_STANDARD_INPUT;
    enum status status = open_descriptor(s, err);
    if (status != STATUS_OK)
        return status;
    status = source_examine(s, err);
    source_rest(s);
    return status;
}

enum status source_window(struct source *s, const uint8_t **bytes, size_t *n, size_t at, struct error *err)
{
    assert(at < s->size);
    if (s->buffer) {
        *bytes = s->buffer + at;
        *n = s->size - at;
        return STATUS_OK;
    }
    if (s->fd < 0) {
        const enum status status = open_descriptor(s, err);
        if (status != STATUS_OK)
            return status;
    }
    /* Touching a mapped page beyond a file's end kills the process: look before every window. */
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return fail(err, STATUS_READ, "%s: cannot be examined: %s", s->name, strerror(errno));
    if (st.st_dev != s->device || st.st_ino != s->file || st.st_size < s->start ||
        (uint64_t)(st.st_size - s->start) != s->size)
        return changed(s, err);
    if (!map_window(s, bytes, n, at))
        return fail(err, STATUS_READ, "%s: cannot be mapped: %s", s->name, strerror(errno));
    return STATUS_OK;
}
