/* nopeek lab heads: what lab/lookups.h measures, as a table or JSON. */
#ifndef CLI_LAB_HEADS_H
#define CLI_LAB_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"

struct lab_heads {
    size_t steps, seeds; /* seeds: 1 .. LOOKUPS_MOST_SEEDS */
    uint64_t seed;
    struct team team;
    bool json;
};

/* STATUS_USAGE for 0 steps. */
enum status lab_heads_run(const struct lab_heads *s, struct error *err);

#endif
