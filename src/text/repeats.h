/* Does the validation part stand in the train part word for word? Then its loss says how well a text was learnt by
 * heart, and nothing about text that is new. */
#ifndef TEXT_REPEATS_H
#define TEXT_REPEATS_H

#include <stddef.h>

#include "base/status.h"
#include "text/dataset.h"

#define REPEATS_LENGTH ((size_t)64) /* of a stretch that is looked for: too long to come again by chance */
#define REPEATS_LEAST ((size_t)16)  /* ... in a validation part that is shorter than that */
#define REPEATS_MOST ((size_t)1024) /* stretches that are looked for */

struct repeats {
    size_t length; /* symbols of a stretch */
    size_t tried;  /* stretches of the validation part, side by side or evenly spread; 0 when it is too short for one */
    size_t found;  /* ... that stand somewhere in the train part */
};

/* Compares symbol by symbol what a rolling hash (Karp and Rabin 1987) finds, over all of the train part. STATUS_MEMORY.
 */
enum status repeats_find(struct repeats *r, const struct dataset *d, struct error *err);

#endif
