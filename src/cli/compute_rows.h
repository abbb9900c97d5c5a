/* Rows of the option table that commands share which compute with a saved model: where = offsetof(struct settings,
 * ...). */
#ifndef CLI_COMPUTE_ROWS_H
#define CLI_COMPUTE_ROWS_H

#include <stddef.h>

#include "cli/compute.h"
#include "cli/options.h"

/* clang-format off */
/* A size_t, as compute_team takes it. */
#define COMPUTE_ROW_THREADS(where, says) \
    {.name = "threads", .type = OPTION_SIZE, .offset = (where), .metavar = "N", .fallback = "0", \
     .fallback_note = "one per core", .range = OPTION_BETWEEN(0, 1024), .help = (says)}

/* An int, of enum precision. */
#define COMPUTE_ROW_PRECISION(where, says) \
    {.name = "precision", .type = OPTION_CHOICE, .offset = (where), .metavar = "NAME", .fallback = "fp32", \
     .choices = compute_precisions, .help = (says)}
/* clang-format on */

#endif
