/* `nopeek train` on a small text with a small model, from outside. */
#ifndef SUPPORT_TINY_TRAIN_H
#define SUPPORT_TINY_TRAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "support/program.h"

/* FOLDER/text.txt of the scratch folder, written on the first call: 600 characters, 11 of them distinct. */
const char *tiny_train_text(void);

/* nopeek train WORDS...; a run that is not resumed also gets a small shape, one thread and short looks, which come
 * first, so that WORDS may say otherwise. */
#define TINY_TRAIN(p, ...) tiny_train((p), (const char *const[]){__VA_ARGS__, NULL})
void tiny_train(struct program *p, const char *const *words);

/* The same, and the status must be 0. */
#define TINY_TRAIN_OK(...) tiny_train_ok((const char *const[]){__VA_ARGS__, NULL})
void tiny_train_ok(const char *const *words);

/* The same, not waited for; what it says on stderr goes to FOLDER/err. */
#define TINY_TRAIN_START(...) tiny_train_start((const char *const[]){__VA_ARGS__, NULL})
pid_t tiny_train_start(const char *const *words);

/* Waits for it: exit status, or 128 + n when signal n ended it. */
int tiny_train_wait(pid_t child);

/* Waits until a file or folder is there, for 60 seconds at most. */
void tiny_train_await(const char *path);

#endif
