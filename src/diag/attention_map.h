/* The attention maps of one text: who looks at whom, in every layer and head, as the reference attention works them out
 * and keeps them. Nothing is rounded or scaled afterwards: these are the weights that the values are summed with. */
#ifndef DIAG_ATTENTION_MAP_H
#define DIAG_ATTENTION_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "base/team.h"
#include "model/gpt.h"

struct attention_map {
    const struct gpt *model; /* borrowed */
    size_t T;
    struct work work; /* holds the weights of every layer */
};

/* How far a row's sum may be from 1 before it is taken for a mistake. fp32 itself stays within a tenth of that. */
#define ATTENTION_MAP_TOLERANCE 1e-5

/* tokens (T), each < V, 0 < T <= block_size (asserted). Memory is L H T^2 reals, and activations. STATUS_NONFINITE (a
 * weight is no number), STATUS_RANGE (a row does not sum to 1; or a size overflows), both naming layer, head and row;
 * STATUS_MEMORY. On failure nothing is left allocated. */
enum status attention_map_make(struct attention_map *m, const struct gpt *g, const uint32_t *tokens, size_t T,
                               struct team team, struct error *err);
void attention_map_free(struct attention_map *m);

/* (T,T) row-major: row i is what position i looks at. */
const real *attention_map_weights(const struct attention_map *m, size_t layer, size_t head);

/* Keys that position i of a layer and head sees, as the model works (a leaky one sees its future). */
struct attention_interval attention_map_keys(const struct attention_map *m, size_t layer, size_t head, size_t i);

/* Entropy of n weights in nats: -sum p ln p, where 0 ln 0 is 0. Between 0 and ln n; in double, in order. */
double attention_map_entropy(const real *p, size_t n);

/* What one map comes to. */
struct attention_map_head {
    double entropy;     /* mean of each row's, divided by ln(visible keys); rows that see one key are left out. NaN:
                           there is no other */
    double future_mass; /* weight on later positions, mean over rows: exactly 0 in a causal model */
    double row_error;   /* the largest |1 - sum of a row| */
};

/* For positions 0 .. T-1. row_entropy (T), normalised, NaN in rows that see one key; or NULL. */
struct attention_map_head attention_map_head(double *row_entropy, const struct attention_map *m, size_t layer,
                                             size_t head);

#endif
