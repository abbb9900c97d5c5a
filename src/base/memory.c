#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* The number behind `name` in a file of lines "Name:  123 kB", in bytes; 0 when it is not there. */
static size_t line_of(const char *path, const char *name)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    char line[256];
    size_t kilobytes = 0;
    while (fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%zu", &kilobytes) == 1)
            break;
    fclose(f);
    return kilobytes * 1024;
}

/* A file of one number; 0 when there is none ("max"). */
static size_t number_in(const char *path)
{
    FILE *f = fopen(path, "r");
    size_t n = 0;
    if (!f)
        return 0;
    if (fscanf(f, "%zu", &n) != 1)
        n = 0;
    fclose(f);
    return n;
}

static size_t within(size_t available, size_t limit, size_t used)
{
    if (limit == 0)
        return available;
    const size_t left = limit > used ? limit - used : 0;
    return left < available ? left : available;
}

size_t memory_available(void)
{
    size_t available = line_of("/proc/meminfo", "MemAvailable:");
    available = within(available, number_in("/sys/fs/cgroup/memory.max"), number_in("/sys/fs/cgroup/memory.current"));
    return within(available, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                  number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes"));
}

size_t memory_peak(void)
{
    const size_t since = line_of("/proc/self/status", "VmHWM:"); /* getrusage's figure is never forgotten */
    struct rusage usage;
    if (since > 0 || getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_maxrss < 0)
        return since;
#ifdef __APPLE__
    return (size_t)usage.ru_maxrss;
#else
    return (size_t)usage.ru_maxrss * 1024;
#endif
}

bool memory_forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f)
        return false;
    const bool written = fputs("5", f) >= 0;
    return fclose(f) == 0 && written;
}
