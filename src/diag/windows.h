/* Is what training reads what it should read? Targets are the symbols after the inputs, training windows lie in the
 * train part, and the validation part begins where that ends. */
#ifndef DIAG_WINDOWS_H
#define DIAG_WINDOWS_H

#include <stdint.h>

#include "base/status.h"
#include "diag/verdict.h"
#include "text/dataset.h"

/* Adds the lines "targets" and "overlap" and what they found. Windows of T symbols, drawn as training with this seed
 * draws them; d may be NULL. Besides d, texts in which a symbol comes again only after 250 others are read through the
 * same functions, so that a shift shows whatever the text. STATUS_MEMORY. */
enum status windows_check(struct verdict *v, const struct dataset *d, size_t T, uint64_t seed, struct error *err);

#endif
