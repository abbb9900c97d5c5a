#include "support/textfile.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void textfile_begin(struct textfile_folder *folder)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/nopeek-test-XXXXXX", tmp && strlen(tmp) < 64 ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(folder->path), "no folder for the test's files");
}

void textfile_end(struct textfile_folder *folder)
{
    DIR *dir = opendir(folder->path);
    cr_assert_not_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[TEXTFILE_PATH_SIZE];
        textfile_path(path, folder, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(path) != 0)
            rmdir(path);
    }
    closedir(dir);
    rmdir(folder->path);
}

void textfile_path(char path[TEXTFILE_PATH_SIZE], const struct textfile_folder *folder, const char *name)
{
    const int n = snprintf(path, TEXTFILE_PATH_SIZE, "%s/%s", folder->path, name);
    cr_assert(n > 0 && n < TEXTFILE_PATH_SIZE);
}

void textfile_write(char path[TEXTFILE_PATH_SIZE], const struct textfile_folder *folder, const char *name,
                    const void *bytes, size_t n)
{
    textfile_path(path, folder, name);
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}
