#include "base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef __linux__
/* The rest of the first line of a file that begins with `key`; false when there is none. */
static bool find_line(char *out, int size, const char *path, const char *key)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool found = false;
    while (!found && fgets(out, size, f))
        found = strncmp(out, key, strlen(key)) == 0;
    fclose(f);
    return found;
}
#endif

const char *machine_name(char out[MACHINE_NAME_SIZE])
{
    size_t length = 0;
#ifdef __linux__
    char line[256];
    if (find_line(line, sizeof line, "/proc/cpuinfo", "model name")) {
        const char *from = strchr(line, ':');
        for (from = from ? from + 1 : ""; *from && length + 1 < MACHINE_NAME_SIZE; from++) {
            const bool blank = *from == ' ' || *from == '\t' || *from == '\n';
            if (!blank)
                out[length++] = *from;
            else if (length > 0 && out[length - 1] != ' ')
                out[length++] = ' ';
        }
        while (length > 0 && out[length - 1] == ' ')
            length--;
    }
#endif
    out[length] = '\0';
    if (length == 0)
        snprintf(out, MACHINE_NAME_SIZE, "unknown processor");
    return out;
}
