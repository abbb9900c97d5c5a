#include "io/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status map_descriptor(struct mapped *m, int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(err, STATUS_OPEN, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a folder, a file was expected", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a pipe or device, a regular file was expected", path);
    if (st.st_size == 0)
        return STATUS_OK;
    if ((uintmax_t)st.st_size > SIZE_MAX)
        return fail(err, STATUS_OPEN, "%s: %jd bytes are more than this machine can map", path, (intmax_t)st.st_size);
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return fail(err, STATUS_OPEN, "%s: cannot map its %jd bytes: %s", path, (intmax_t)st.st_size, strerror(errno));
    *m = (struct mapped){.bytes = bytes, .size = (size_t)st.st_size};
    return STATUS_OK;
}

enum status mapped_open(struct mapped *m, const char *path, struct error *err)
{
    *m = (struct mapped){0};
    /* Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return fail(err, STATUS_OPEN, "%s: %s", path, strerror(errno));
    const enum status s = map_descriptor(m, fd, path, err);
    close(fd);
    return s;
}

void mapped_close(struct mapped *m)
{
    if (m->bytes)
        munmap((void *)m->bytes, m->size);
    *m = (struct mapped){0};
}
