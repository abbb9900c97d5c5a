/* Where a leak comes from: each block tried alone on random input, so that one layer's fault cannot hide behind or be
 * blamed on another's. */
#ifndef DIAG_LEAK_LOCATE_H
#define DIAG_LEAK_LOCATE_H

#include "diag/leak.h"

/* Long windows are searched over their first positions only: a block alone costs a pass a position and slice. */
#define LEAK_LOCATE_LONGEST 48

/* Fills r->place. Each block runs on random rows x, then with rows from t on changed: the first operation, in order,
 * whose earlier rows change is at fault (attention: each head that does). A block whose forward pass is right runs
 * backward from each row in turn. If evaluation shows nothing, the same is tried with dropout. Only the first 48
 * positions are searched. w as in leak_check. STATUS_MEMORY. */
enum status leak_locate(struct leak_report *r, const struct gpt *g, struct work *w, uint64_t seed, uint32_t step,
                        struct error *err);

#endif
