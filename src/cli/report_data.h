/* A report's data as JSON: what the page's script draws. Nothing in it is markup; the page escapes it. */
#ifndef CLI_REPORT_DATA_H
#define CLI_REPORT_DATA_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"
#include "cli/inspection.h"
#include "cli/report_facts.h"
#include "cli/report_film.h"
#include "cli/report_log.h"
#include "cli/saved.h"

struct report_data {
    const struct saved *saved;
    const struct report_log *log;
    const struct report_film *film;
    const struct report_entropy *entropy;
    const struct inspection *kinds; /* of the latest checkpoint; NULL: they could not be had, because */
    const char *no_kinds;           /* of this */
    const char *name;               /* of the run, as a person calls it */
    bool watching;                  /* the page is written again while training goes on */
};

/* New references. *data is everything but the film's weights, which are *frames, an array of texts in the film's order:
 * a page reads them only when they are looked at. STATUS_MEMORY, and then both are NULL. */
enum status report_data_make(json_t **data, json_t **frames, const struct report_data *d, struct error *err);

#endif
