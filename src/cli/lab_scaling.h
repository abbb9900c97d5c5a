/* nopeek lab scaling: what lab/scaling.h measures, as tables, a picture or JSON. */
#ifndef CLI_LAB_SCALING_H
#define CLI_LAB_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"

struct lab_scaling {
    size_t steps; /* of each training; 0: none */
    uint64_t seed;
    struct team team;
    const char *svg; /* NULL: no picture */
    bool json;
};

/* STATUS_USAGE for steps that are too few to look at. */
enum status lab_scaling_run(const struct lab_scaling *s, struct error *err);

#endif
