#include "model/laps.h"

#include <assert.h>

void laps_start(struct laps *l)
{
    *l = (struct laps){.since = clock_seconds()};
}

double laps_of(const struct laps *l, enum laps_operation o)
{
    double sum = 0;
    for (size_t p = 0; p < LAPS_PASSES; p++)
        sum += l->seconds[o][p];
    return sum;
}

double laps_total(const struct laps *l)
{
    double sum = 0;
    for (size_t o = 0; o < LAPS_OPERATIONS; o++)
        sum += laps_of(l, (enum laps_operation)o);
    return sum;
}

const char *laps_name(enum laps_operation o)
{
    static const char *const names[] = {
        [LAPS_EMBEDDING] = "embedding",
        [LAPS_LAYERNORM] = "layer norm",
        [LAPS_QKV] = "W_Q W_K W_V",
        [LAPS_ATTENTION] = "attention",
        [LAPS_PROJ] = "W_O",
        [LAPS_FC] = "W_fc",
        [LAPS_GELU] = "gelu",
        [LAPS_FC_OUT] = "W_out",
        [LAPS_RESIDUAL] = "residual, dropout",
        [LAPS_HEAD] = "output head",
        [LAPS_LOSS] = "cross-entropy",
        [LAPS_PACK] = "packing",
        [LAPS_NORM] = "gradient norm",
        [LAPS_ADAMW] = "AdamW",
        [LAPS_WAIT] = "waiting",
    };
    assert(o < LAPS_OPERATIONS);
    return names[o];
}
