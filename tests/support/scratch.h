/* A folder for one test, with a blank in its name; gone when the test ends. Use as fixtures:
 *     TestSuite(commit, .init = scratch_make, .fini = scratch_remove); */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

void scratch_make(void);
void scratch_remove(void);

const char *scratch_folder(void);

/* FOLDER/NAME. Good for the whole test, which may have 128 different ones. */
const char *scratch_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a file by its full path. */
void scratch_write(const char *path, const void *bytes, size_t n);

/* A file's bytes and a terminating zero, to be freed; *n may be NULL. */
char *scratch_read(const char *path, size_t *n);

/* Names in a folder, "." and ".." aside. */
size_t scratch_count(const char *path);

/* Whether something is there, a dangling link too. */
bool scratch_exists(const char *path);

#endif
