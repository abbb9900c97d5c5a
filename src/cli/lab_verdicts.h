/* nopeek lab verdicts: what lab/spoiled.h tries, as a table or JSON. */
#ifndef CLI_LAB_VERDICTS_H
#define CLI_LAB_VERDICTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"

struct lab_verdicts {
    const char *text; /* NULL: one of the corpus generator */
    size_t steps, trials;
    uint64_t seed;
    struct team team;
    bool json;
};

/* STATUS_USAGE for too few steps or no trials; STATUS_FORMAT when a run was told what it should not be, or not told
 * what it should, after the table; errors of dataset_open. */
enum status lab_verdicts_run(const struct lab_verdicts *s, struct error *err);

#endif
