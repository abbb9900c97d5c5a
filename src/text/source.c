#include "text/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_standard_input(const struct source *s)
{
    return strcmp(s->path, "-") == 0;
}

static struct source named(const char *path)
{
    struct source s = {.path = path, .name = path, .fd = -1};
    if (is_standard_input(&s))
        s.name = SOURCE_STANDARD_INPUT;
    return s;
}

static enum status too_long(const struct source *s, struct error *err)
{
    return fail(err, STATUS_RANGE, "%s: more than %llu bytes; train on a part of it", s->name,
                (unsigned long long)SOURCE_LIMIT);
}

static enum status cannot_open(const struct source *s, struct error *err)
{
    return fail(err, STATUS_OPEN, "%s: cannot be opened: %s", s->name, strerror(errno));
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
    return s->fd < 0 ? cannot_open(s, err) : STATUS_OK;
}

static void close_descriptor(struct source *s)
{
    if (s->fd >= 0 && !is_standard_input(s))
        close(s->fd);
    s->fd = -1;
}

/* Those that the system makes up as they are read are regular files too, and say that they are empty. */
static enum status measure(struct source *s, struct error *err)
{
    if (S_ISDIR(s->before.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a directory; name the text files in it", s->name);
    if (!S_ISREG(s->before.st_mode))
        return STATUS_OK;
    const off_t start = is_standard_input(s) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    s->regular = start >= 0 && s->before.st_size > start;
    s->expected = s->regular ? (uint64_t)(s->before.st_size - start) : 0;
    return s->expected > SOURCE_LIMIT ? too_long(s, err) : STATUS_OK;
}

static enum status examine(struct source *s, struct error *err)
{
    if (fstat(s->fd, &s->before) != 0)
        return fail(err, STATUS_OPEN, "%s: cannot be examined: %s", s->name, strerror(errno));
    return measure(s, err);
}

enum status source_look(uint64_t *size, const char *path, struct error *err)
{
    struct source s = named(path);
    *size = 0;
    /* Opening a FIFO and closing it again would take it from its writer. */
    if (!is_standard_input(&s) && stat(path, &s.before) != 0)
        return cannot_open(&s, err);
    if (!is_standard_input(&s) && !S_ISREG(s.before.st_mode))
        return measure(&s, err);
    enum status status = open_descriptor(&s, err);
    if (status != STATUS_OK)
        return status;
    status = examine(&s, err);
    *size = s.expected;
    close_descriptor(&s);
    return status;
}

enum status source_open(struct source *s, const char *path, struct error *err)
{
    *s = named(path);
    enum status status = open_descriptor(s, err);
    if (status != STATUS_OK)
        return status;
    status = examine(s, err);
    if (status == STATUS_OK && !(s->buffer = malloc(SOURCE_WINDOW)))
        status = fail(err, STATUS_MEMORY, "%s: no memory to read it", s->name);
    if (status != STATUS_OK)
        source_close(s);
    return status;
}

void source_close(struct source *s)
{
    close_descriptor(s);
    free(s->buffer);
    s->buffer = NULL;
}

/* A text that something else is writing to would not be found again by a run that is resumed. */
static enum status check_unchanged(const struct source *s, struct error *err)
{
    struct stat now;
    if (!s->regular)
        return STATUS_OK;
    if (fstat(s->fd, &now) != 0)
        return fail(err, STATUS_READ, "%s: cannot be examined: %s", s->name, strerror(errno));
    if (s->total == s->expected && now.st_size == s->before.st_size && now.st_mtim.tv_sec == s->before.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == s->before.st_mtim.tv_nsec)
        return STATUS_OK;
    return fail(err, STATUS_READ, "%s: changed while it was being read; try again when nothing writes to it", s->name);
}

static enum status read_more(struct source *s, struct error *err)
{
    const ssize_t got = read(s->fd, s->buffer + s->end, SOURCE_WINDOW - s->end);
    if (got < 0)
        return errno == EINTR ? STATUS_OK : fail(err, STATUS_READ, "%s: cannot be read: %s", s->name, strerror(errno));
    if (got > 0 && S_ISCHR(s->before.st_mode) && !isatty(s->fd))
        return fail(err, STATUS_OPEN, "%s: is a device, which may never end; name a file", s->name);
    s->ended = got == 0;
    s->end += (size_t)got;
    s->total += (uint64_t)got;
    if (s->total > SOURCE_LIMIT)
        return too_long(s, err);
    return s->ended ? check_unchanged(s, err) : STATUS_OK;
}

enum status source_next(struct source *s, const uint8_t **bytes, size_t *n, size_t used, struct error *err)
{
    assert(used <= s->end - s->begin);
    s->begin += used;
    if (!s->ended) {
        memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    while (!s->ended && s->end < SOURCE_LEAST) {
        const enum status status = read_more(s, err);
        if (status != STATUS_OK)
            return status;
    }
    *bytes = s->buffer + s->begin;
    *n = s->end - s->begin;
    return STATUS_OK;
}
