/* A file that a command writes beside what it prints: a picture or a page, named by an option. */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include "base/status.h"
#include "report/buffer.h"

/* Whether a file can be put at `path`, asked before the work is done. STATUS_OK for NULL; STATUS_USAGE for "";
 * STATUS_WRITE when it is a folder or nothing may be written beside it; STATUS_MEMORY. `command` begins the message. */
enum status output_file_check(const char *path, const char *command, struct error *err);

/* Puts b there, whole or not at all, and frees it in every case. STATUS_MEMORY when b is not whole; errors as
 * commit_file. */
enum status output_file_write(const char *path, struct buffer *b, struct error *err);

#endif
