/* A text as symbol ids, split once into train and validation; windows are drawn from it.
 *
 * The text is N symbols: the first N - floor(N * val_split) train, the rest validation. A window of
 * length T is T inputs and T targets, the targets shifted by one, all T + 1 symbols from one part. */
#ifndef TEXT_DATASET_H
#define TEXT_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"
#include "text/tokenizer.h"

/* Mistakes that can be planted, for detectors to find; only diag/, lab/ and tests do. */
enum dataset_fault {
    DATASET_FAULT_NONE,
    DATASET_FAULT_NOT_SHIFTED,   /* targets are the inputs */
    DATASET_FAULT_SHIFTED_TWICE, /* targets lie two ahead */
    DATASET_FAULT_DRAWS_ALL,     /* training windows are drawn from the whole text */
    DATASET_FAULT_VAL_EARLY,     /* the validation part begins inside the train part */
};

struct dataset {
    void *ids;                 /* (count) of `width` bytes each: as narrow as V allows */
    unsigned width;            /* 1, 2 or 4 */
    size_t count;              /* N */
    size_t train;              /* symbols of the train part */
    size_t bytes;              /* size of the text as read */
    size_t crlf, lone_cr, lf;  /* line ends found */
    bool byte_order_mark;      /* the text begins with U+FEFF (kept as data) */
    char hash[HASH_TEXT_SIZE]; /* of the bytes as read, all files in order */
    enum dataset_fault fault;
};

enum dataset_part { DATASET_ALL, DATASET_TRAIN, DATASET_VAL };

/* Told how far reading has come: `read` bytes of `total` (0: unknown). */
struct dataset_watch {
    void *context;
    void (*progress)(void *context, uint64_t read, uint64_t total);
};

/* Reads one or more files (joined in order; "-" is standard input), each once and in pieces: what is held of them is
 * their ids.
 *   tokenizer  made from the whole text when it comes with size 0 (its kind set; bare ids: V is one more than the
 *              largest); otherwise used as it is, and a symbol that it lacks is an error
 *   val_split  in [0,1)
 * STATUS_OPEN, STATUS_READ: path and reason (a directory is named as one, a file that changes meanwhile as such).
 * STATUS_FORMAT: empty text, invalid UTF-8 or unknown character, with file and offset. STATUS_RANGE: more than 2^40
 * symbols. STATUS_USAGE: "-" twice. STATUS_MEMORY. On failure nothing is left allocated and a tokenizer made here is
 * freed. */
enum status dataset_open(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths, size_t n_paths,
                         double val_split, struct error *err);
enum status dataset_open_watched(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths,
                                 size_t n_paths, double val_split, const struct dataset_watch *watch,
                                 struct error *err);
void dataset_free(struct dataset *d);

uint32_t dataset_id(const struct dataset *d, size_t i);

/* First symbol and one past the last symbol of a part. */
void dataset_bounds(const struct dataset *d, enum dataset_part part, size_t *begin, size_t *end);

/* STATUS_RANGE, stating needed and found counts, when the train part has fewer than T + 1 symbols. */
enum status dataset_check(const struct dataset *d, size_t T, struct error *err);

/* First symbol of the window that (seed, step, row) draws, uniform over all places in the train part.
 * The part has at least T + 1 symbols (asserted). */
size_t dataset_draw(const struct dataset *d, size_t T, uint64_t seed, uint32_t step, uint32_t row);

/* inputs[t] = id(start + t), targets[t] = id(start + t + 1), t < T. start + T < count (asserted). */
void dataset_window(const struct dataset *d, uint32_t *inputs, uint32_t *targets, size_t start, size_t T);

#endif
