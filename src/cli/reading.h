/* Reading a text while a person waits: a progress line on stderr, once it takes longer than a moment. */
#ifndef CLI_READING_H
#define CLI_READING_H

#include "base/status.h"
#include "text/dataset.h"

/* dataset_open, watched. */
enum status reading_open(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths, size_t n_paths,
                         double val_split, struct error *err);

/* Is the file that --option names none of the texts, by whatever name? NULL for output is none. STATUS_USAGE otherwise:
 * writing it would destroy what was read. */
enum status reading_spares(const char *output, const char *option, const char *const *paths, size_t n_paths,
                           struct error *err);

#endif
