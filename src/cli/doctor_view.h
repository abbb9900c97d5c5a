/* What the doctor found: a line per check, then what it means for training, in 80 columns; or as JSON. */
#ifndef CLI_DOCTOR_VIEW_H
#define CLI_DOCTOR_VIEW_H

#include <jansson.h>

#include "cli/terminal.h"
#include "lab/doctor.h"

/* `units` names the symbols: "characters". */
void doctor_view_print(struct terminal *out, const struct doctor *d, const char *units);

/* The keys that cmd_doctor.c documents, null where unknown; NULL when memory is refused. */
json_t *doctor_view_json(const struct doctor *d, double seconds);

#endif
