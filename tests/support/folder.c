#define _XOPEN_SOURCE 700
#include "support/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 1024

char *folder_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
        free(text);
        text = NULL;
    }
    fclose(f);
    if (text)
        text[n] = '\0';
    if (text && size)
        *size = (size_t)n;
    return text;
}

void folder_remove(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    DIR *d = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char inner[PATH_SIZE * 2];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        folder_remove(inner);
    }
    if (d)
        closedir(d);
    remove(path);
}

bool folder_copy_file(const char *from, const char *to)
{
    size_t n;
    char *bytes = folder_read(from, &n);
    FILE *f = bytes ? fopen(to, "wb") : NULL;
    const bool written = f && fwrite(bytes, 1, n, f) == n;
    free(bytes);
    return f && fclose(f) == 0 && written;
}

bool folder_copy(const char *from, const char *to)
{
    struct stat st;
    char target[PATH_SIZE];
    if (lstat(from, &st) != 0)
        return false;
    if (S_ISLNK(st.st_mode)) {
        const ssize_t n = readlink(from, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        return n > 0 && symlink(target, to) == 0;
    }
    if (!S_ISDIR(st.st_mode))
        return folder_copy_file(from, to);
    DIR *d = opendir(from);
    bool good = d && mkdir(to, 0777) == 0;
    for (const struct dirent *e = good ? readdir(d) : NULL; e && good; e = readdir(d)) {
        char a[PATH_SIZE * 2], b[PATH_SIZE * 2];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(a, sizeof a, "%s/%s", from, e->d_name);
        snprintf(b, sizeof b, "%s/%s", to, e->d_name);
        good = folder_copy(a, b);
    }
    if (d)
        closedir(d);
    return good;
}

bool folder_same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = folder_read(a, &n), *y = folder_read(b, &m);
    const bool same = x && y && n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* The text without what depends on the clock. */
static void forget_rates(char *log)
{
    static const char key[] = "\"tokens_per_s\":";
    for (char *at = strstr(log, key); at; at = strstr(at, key)) {
        char *from = at + strlen(key);
        const size_t n = strcspn(from, ",}");
        memmove(from, from + n, strlen(from + n) + 1);
        at = from;
    }
}

bool folder_same_log(const char *a, const char *b)
{
    char *x = folder_read(a, NULL), *y = folder_read(b, NULL);
    if (x && y) {
        forget_rates(x);
        forget_rates(y);
    }
    const bool same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}
