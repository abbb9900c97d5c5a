/* Writes the seed corpora: FOLDER/READER/NAME for every reader. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz/seeds.h"

static void make(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        perror(path);
        exit(1);
    }
}

static void write_seed(void *context, const char *name, const uint8_t *bytes, size_t n)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static void write_seeds(const char *folder, const char *reader, void (*seeds)(seeds_emit *, void *))
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, reader);
    make(path);
    seeds(write_seed, path);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: seeds FOLDER\n", stderr);
        return 2;
    }
    make(argv[1]);
#define WRITE(reader) write_seeds(argv[1], #reader, seeds_##reader);
    FUZZ_EACH(WRITE)
    return 0;
}
