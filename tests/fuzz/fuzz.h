/* What the fuzz harnesses share. A harness takes any bytes for the content of what its reader reads, and requires of
 * the reader what must hold whatever the bytes are: a refusal comes with one clean line, what is accepted survives
 * being written and read again.
 *
 * A harness is one function, fuzz_READER. tests/fuzz/entry.c makes a libFuzzer program of it (`make fuzz`), and
 * test_replay.c runs it over every seed, cut at every length, in `make test`. A failed requirement aborts. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Every reader: its harness is fuzz_READER.c, its seeds are in seeds.c. */
#define FUZZ_EACH(X)                                                                                                   \
    X(safetensors)                                                                                                     \
    X(config)                                                                                                          \
    X(tokenizer)                                                                                                       \
    X(state)                                                                                                           \
    X(optimizer)                                                                                                       \
    X(metrics)                                                                                                         \
    X(text)                                                                                                            \
    X(checkpoint)                                                                                                      \
    X(shards)                                                                                                          \
    X(import)                                                                                                          \
    X(protocol)                                                                                                        \
    X(options)

#define FUZZ_DECLARE(reader) int fuzz_##reader(const uint8_t *bytes, size_t n);
FUZZ_EACH(FUZZ_DECLARE)

/* Ends the process with the reason unless the condition holds. */
#define fuzz_require(condition, ...) ((condition) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #condition, __VA_ARGS__))
void fuzz_broken(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5), noreturn));

/* Begin a reader's call with this error, and require this when it was refused: one line that is not empty, fits the
 * buffer, is UTF-8 and holds no control character. */
void fuzz_clear(struct error *err);
void fuzz_refused(enum status s, const struct error *err);

/* A harness says that its reader accepted the input; how often that was in this process. So that a replay can tell that
 * both kinds of input were there. */
void fuzz_accepted(void);
size_t fuzz_accepted_count(void);

/* FOLDER/NAME in a folder of this process, in memory where the system has such a place. Good until the fourth call
 * after this one. */
const char *fuzz_path(const char *name);

/* Writes a file there and returns its path. */
const char *fuzz_file(const char *name, const void *bytes, size_t n);

/* A file's bytes (free them) by its path. */
uint8_t *fuzz_read(size_t *n, const char *path);

/* Removes everything in FOLDER/NAME, and that; then nothing of that name is there. */
void fuzz_remove(const char *name);

/* Removes the folder itself; the next call makes another. */
void fuzz_end(void);

/* A folder's files as one input: records of the file's number, the size in two bytes (little-endian), the content. */
enum { FUZZ_FILES = 9 };
extern const char *const fuzz_file_names[FUZZ_FILES];

/* Makes the folder of that name anew, with the files of such an input. */
void fuzz_unpack(const char *name, const uint8_t *bytes, size_t n);

#endif
