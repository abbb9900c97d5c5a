#include "io/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE ((size_t)64 << 10)
/* Some systems refuse to read 2^31 bytes at once. */
#define READ_AT_MOST ((size_t)1 << 30)

static enum status examine(struct file *f, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return fail(err, STATUS_OPEN, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a folder, a file was expected", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a pipe or device, a regular file was expected", path);
    if (st.st_size < 0 || (uintmax_t)st.st_size > SIZE_MAX)
        return fail(err, STATUS_OPEN, "%s: %jd bytes are more than this machine can address", path,
                    (intmax_t)st.st_size);
    f->size = (size_t)st.st_size;
    return STATUS_OK;
}

enum status file_open(struct file *f, const char *path, struct error *err)
{
    *f = (struct file){0};
    /* Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever. */
    do
        f->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    while (f->fd < 0 && errno == EINTR);
    enum status s;
    if (f->fd < 0) {
        s = fail(err, STATUS_OPEN, "%s: %s", path, strerror(errno));
    } else {
        s = examine(f, path, err);
        f->path = path;
    }
    if (s != STATUS_OK)
        file_close(f);
    return s;
}

void file_close(struct file *f)
{
    if (f->path)
        close(f->fd);
    *f = (struct file){0};
}

/* *got is less than n only at the end of the file. */
static enum status read_some(size_t *got, const struct file *f, uint8_t *out, size_t n, size_t at, struct error *err)
{
    *got = 0;
    while (*got < n) {
        const size_t left = n - *got;
        const ssize_t r = pread(f->fd, out + *got, left < READ_AT_MOST ? left : READ_AT_MOST, (off_t)at + (off_t)*got);
        if (r < 0 && errno != EINTR)
            return fail(err, STATUS_READ, "%s: cannot be read at byte %zu: %s", f->path, at + *got, strerror(errno));
        if (r == 0)
            break;
        if (r > 0)
            *got += (size_t)r;
    }
    return STATUS_OK;
}

enum status file_read(const struct file *f, void *out, size_t n, size_t at, struct error *err)
{
    assert(at <= f->size && n <= f->size - at);
    size_t got;
    const enum status s = read_some(&got, f, out, n, at, err);
    if (s == STATUS_OK && got < n)
        return fail(err, STATUS_READ,
                    "%s: %zu bytes long when it was opened, but it ends at byte %zu: it was cut off while it was read",
                    f->path, f->size, at + got);
    return s;
}

static enum status load(uint8_t *out, const struct file *f, struct error *err)
{
    uint8_t more;
    size_t grown = 0;
    enum status s = file_read(f, out, f->size, 0, err);
    if (s == STATUS_OK)
        s = read_some(&grown, f, &more, 1, f->size, err);
    if (s == STATUS_OK && grown)
        s = fail(err, STATUS_READ, "%s: grew while it was being read; try again when nothing writes to it", f->path);
    return s;
}

enum status file_load(uint8_t **bytes, size_t *size, const char *path, size_t most, struct error *err)
{
    *bytes = NULL;
    *size = 0;
    struct file f;
    enum status s = file_open(&f, path, err);
    if (s != STATUS_OK)
        return s;
    if (f.size > most) {
        s = fail(err, STATUS_FORMAT, "%s: %zu bytes long, at most %zu expected", path, f.size, most);
    } else if (f.size > 0) {
        *bytes = malloc(f.size);
        s = *bytes ? load(*bytes, &f, err)
                   : fail(err, STATUS_MEMORY, "%s: no memory left for its %zu bytes", path, f.size);
    }
    if (s == STATUS_OK) {
        *size = f.size;
    } else {
        free(*bytes);
        *bytes = NULL;
    }
    file_close(&f);
    return s;
}

static enum status hash_open(struct hash *h, const struct file *f, struct error *err)
{
    uint8_t piece[PIECE];
    for (size_t at = 0; at < f->size;) {
        const size_t n = f->size - at < PIECE ? f->size - at : PIECE;
        const enum status s = file_read(f, piece, n, at, err);
        if (s != STATUS_OK)
            return s;
        hash_add(h, piece, n);
        at += n;
    }
    return STATUS_OK;
}

enum status file_hash(char out[HASH_TEXT_SIZE], const char *path, struct error *err)
{
    struct file f;
    enum status s = file_open(&f, path, err);
    if (s != STATUS_OK)
        return s;
    struct hash *h = hash_begin();
    s = h ? hash_open(h, &f, err) : fail(err, STATUS_MEMORY, "%s: no memory left to take its hash", path);
    hash_end(s == STATUS_OK ? out : NULL, h);
    file_close(&f);
    return s;
}
