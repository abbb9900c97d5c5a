/* nopeek lab cost: what lab/cost.h measures, as a table, a picture or JSON. */
#ifndef CLI_LAB_COST_H
#define CLI_LAB_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/team.h"

struct lab_cost {
    size_t max_t, head_size;
    struct team team;
    const char *svg; /* NULL: no picture */
    bool json;
};

enum status lab_cost_run(const struct lab_cost *s, struct error *err);

#endif
