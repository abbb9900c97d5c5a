/* Attention maps as text that can stand in a log or a page: every weight as the very fp32 number it is. */
#ifndef DIAG_ATTENTION_PACK_H
#define DIAG_ATTENTION_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "diag/attention_map.h"

/* Numbers of one map: rows of i + 1 numbers, as what a causal map has beyond them is exactly 0, or whole rows. */
size_t attention_pack_weights(size_t T, bool square);

/* Bytes of the text of `heads` maps. */
size_t attention_pack_bytes(size_t heads, size_t T, bool square);

/* The longest beginning of a text whose maps fit: no more than `most` symbols, and no more than `bytes` of text. 0:
 * not even one symbol fits. */
size_t attention_pack_fit(size_t heads, bool square, size_t most, size_t bytes);

/* Whether a map of m has a weight beyond the diagonal: such maps are packed square. */
bool attention_pack_is_square(const struct attention_map *m);

/* *text, to be freed: (L,H) maps, one after another, row by row, each weight as four bytes, the lowest first, and all
 * of them in base64, attention_pack_bytes characters and a zero. STATUS_MEMORY. */
enum status attention_pack(char **text, const struct attention_map *m, bool square, struct error *err);

#endif
