/* Files that a test needs, in a folder of its own that goes when the test ends. */
#ifndef SUPPORT_TEXTFILE_H
#define SUPPORT_TEXTFILE_H

#include <stddef.h>

#define TEXTFILE_PATH_SIZE 256

struct textfile_folder {
    char path[TEXTFILE_PATH_SIZE / 2];
};

void textfile_begin(struct textfile_folder *folder);
void textfile_end(struct textfile_folder *folder);

/* The path of a file in the folder, whether it exists or not. */
void textfile_path(char path[TEXTFILE_PATH_SIZE], const struct textfile_folder *folder, const char *name);

/* Writes n bytes to a file of the folder and gives its path. */
void textfile_write(char path[TEXTFILE_PATH_SIZE], const struct textfile_folder *folder, const char *name,
                    const void *bytes, size_t n);

#endif
