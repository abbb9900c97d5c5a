/* A stopwatch for the operations of a step: how long lane 0 took over each. Off (NULL in struct work) it costs one
 * comparison an operation. What lane 0 does not do itself shows as waiting. */
#ifndef MODEL_LAPS_H
#define MODEL_LAPS_H

#include <stddef.h>

#include "base/clock.h"
#include "base/team.h"

enum laps_operation {
    LAPS_EMBEDDING,
    LAPS_LAYERNORM, /* all of them, the last included */
    LAPS_QKV,
    LAPS_ATTENTION,
    LAPS_PROJ,
    LAPS_FC,
    LAPS_GELU,
    LAPS_FC_OUT,
    LAPS_RESIDUAL, /* dropout of a branch, and its joining the stream */
    LAPS_HEAD,
    LAPS_LOSS,  /* cross-entropy */
    LAPS_PACK,  /* weights made ready for products in bf16 */
    LAPS_NORM,  /* the gradient's length; zeroing it */
    LAPS_ADAMW, /* clipping included */
    LAPS_WAIT,  /* at barriers, and for the team to start and end */
    LAPS_OPERATIONS
};

/* Backward, an operation may have a gradient with respect to its input and one with respect to its weights. */
enum laps_pass { LAPS_FORWARD, LAPS_INPUT, LAPS_WEIGHT, LAPS_PASSES };

struct laps {
    double since; /* when the last lap ended */
    double seconds[LAPS_OPERATIONS][LAPS_PASSES];
};

/* All times 0; the first lap begins now. */
void laps_start(struct laps *l);

/* The time since the last lap, or the start, was this operation's. Lane 0's is taken; l may be NULL. */
static inline void laps_take(const struct lane *lane, struct laps *l, enum laps_operation o, enum laps_pass p)
{
    if (!l || lane->index != 0)
        return;
    const double now = clock_seconds();
    l->seconds[o][p] += now - l->since;
    l->since = now;
}

/* lane_barrier, its time taken as waiting. */
static inline void laps_barrier(const struct lane *lane, struct laps *l)
{
    lane_barrier(lane);
    laps_take(lane, l, LAPS_WAIT, LAPS_FORWARD);
}

/* Over all passes, or all operations. */
double laps_of(const struct laps *l, enum laps_operation o);
double laps_total(const struct laps *l);

/* "attention" */
const char *laps_name(enum laps_operation o);

#endif
