#include "support/scratch.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 2048
#define PATHS 128

static char folder[512];

void scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/nopeek test XXXXXX", base && base[0] ? base : "/tmp");
    cr_assert_not_null(mkdtemp(folder), "%s", folder);
}

static void remove_tree(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        chmod(path, 0700);
        DIR *d = opendir(path);
        for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            char inner[PATH_SIZE];
            snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
            remove_tree(inner);
        }
        if (d)
            closedir(d);
    }
    remove(path);
}

void scratch_remove(void)
{
    remove_tree(folder);
}

const char *scratch_folder(void)
{
    return folder;
}

const char *scratch_path(const char *format, ...)
{
    static char paths[PATHS][PATH_SIZE];
    static size_t n;
    char path[PATH_SIZE];
    const int at = snprintf(path, sizeof path, "%s/", folder);
    va_list args;
    va_start(args, format);
    vsnprintf(path + at, sizeof path - (size_t)at, format, args);
    va_end(args);
    for (size_t i = 0; i < n; i++)
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    cr_assert_lt(n, PATHS, "more than %d paths in one test", PATHS);
    memcpy(paths[n], path, sizeof path);
    return paths[n++];
}

void scratch_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

char *scratch_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fseek(f, 0, SEEK_END), 0);
    const long size = ftell(f);
    cr_assert_geq(size, 0);
    rewind(f);
    char *bytes = malloc((size_t)size + 1);
    cr_assert_not_null(bytes);
    cr_assert_eq(fread(bytes, 1, (size_t)size, f), (size_t)size);
    bytes[size] = '\0';
    fclose(f);
    if (n)
        *n = (size_t)size;
    return bytes;
}

size_t scratch_count(const char *path)
{
    DIR *d = opendir(path);
    cr_assert_not_null(d, "%s", path);
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

bool scratch_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}
