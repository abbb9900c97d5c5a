/* Files and folders for programs that test without Criterion. */
#ifndef SUPPORT_FOLDER_H
#define SUPPORT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* A file's bytes and a terminating zero, to be freed; NULL when it cannot be read. *size may be NULL. */
char *folder_read(const char *path, size_t *size);

/* Removes whatever is there, a folder with all in it too. */
void folder_remove(const char *path);

bool folder_copy_file(const char *from, const char *to);

/* A folder, file or link; links stay links. */
bool folder_copy(const char *from, const char *to);

bool folder_same_file(const char *a, const char *b);

/* Two metrics.jsonl, apart from what the clock decides in them. */
bool folder_same_log(const char *a, const char *b);

#endif
