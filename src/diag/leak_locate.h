/* Where a leak comes from: each block tried alone on random input, so that one layer's fault cannot hide behind or be
 * blamed on another's, and what stands before and after the blocks. */
#ifndef DIAG_LEAK_LOCATE_H
#define DIAG_LEAK_LOCATE_H

#include "diag/leak.h"

/* Long windows are tried at this many positions at most, chosen by chart_positions: a block alone costs a pass for
 * each. Large models are tried at fewer: about so many floating-point operations go into a block. */
#define LEAK_LOCATE_POSITIONS 64
#define LEAK_LOCATE_LEAST 16
#define LEAK_LOCATE_COST 1e10

/* Adds to r->place. Each block runs on random rows x, then with one position changed at a time, by much, by little and
 * beyond all bounds; the first operation, in order, whose earlier rows change is at fault (attention: each head that
 * does). Embeddings, the final LayerNorm and the head are watched in whole passes. A block whose forward pass is
 * right runs backward from one row at a time. All of that for two batch rows at once, in evaluation, and if it shows
 * nothing, as in training, and where r->leak says that there is something, with logging off. w as in leak_check.
 * STATUS_MEMORY. */
enum status leak_locate(struct leak_report *r, const struct gpt *g, struct work *w, uint64_t seed, uint32_t step,
                        struct error *err);

/* The same for what one row of the batch takes from another: w has room for two rows (asserted). Each block runs on two
 * rows, of which the second is changed; places have the shape CHART_CAUSAL. */
enum status leak_locate_batch(struct leak_report *r, const struct gpt *g, struct work *w, uint64_t seed, uint32_t step,
                              struct error *err);

#endif
