/* Attention by itself, forward and backward, on random numbers, as a block calls it: causal, q, k and v side by side.
 * What `bench --attention` and `lab cost` measure. */
#ifndef LAB_LONE_ATTENTION_H
#define LAB_LONE_ATTENTION_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/team.h"
#include "kernels/attention.h"

enum lone_kind {
    LONE_REFERENCE, /* the textbook, which keeps a weight for every pair of positions */
    LONE_TILED,
    LONE_KINDS
};

struct lone_attention {
    enum lone_kind kind;
    struct attention_shape shape;
    struct team team;
    enum attention_rule *rules; /* (H) */
    real *qkv, *dqkv;           /* (B,T,3C) */
    real *y, *dy;               /* (B,T,C) */
    struct attention_rows rows;
    struct attention_kept kept; /* the tiled one's */
    real *weights;              /* the reference's */
    real *scratch;
    struct arena arena; /* its size: all of the above */
};

struct lone_size {
    size_t B, H, hs, T; /* > 0 */
};

/* "reference", "tiled" */
const char *lone_attention_name(enum lone_kind kind);

/* Bytes that lone_attention_create takes; (size_t)-1 where they overflow. */
size_t lone_attention_bytes(enum lone_kind kind, const struct lone_size *size, struct team team);

/* STATUS_RANGE, STATUS_MEMORY; on failure nothing is left allocated. */
enum status lone_attention_create(struct lone_attention *a, enum lone_kind kind, const struct lone_size *size,
                                  struct team team, struct error *err);
void lone_attention_free(struct lone_attention *a);

/* One pass on the team; the seconds it took. Backward after forward. */
double lone_attention_forward(struct lone_attention *a);
double lone_attention_backward(struct lone_attention *a);

#endif
