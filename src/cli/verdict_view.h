/* A verdict on one screen, or as JSON: whatever kind of model it is about. */
#ifndef CLI_VERDICT_VIEW_H
#define CLI_VERDICT_VIEW_H

#include <jansson.h>

#include "cli/terminal.h"
#include "diag/verdict.h"

/* A line per detector (name, outcome, seconds, evidence); then each finding, the size in nats, and what to do. */
void verdict_print(struct terminal *out, const struct verdict *v);

/* {"leak", "nats", "findings": [{"detector", "layer", "head", "operation", "backward", "offset", "nats", "what"}],
 *  "detectors": [{"name", "outcome", "seconds", "evidence"}]}, null where unknown; NULL when memory is refused.
 * error: why the check could not be finished ("leak" is null then, and "error" holds it), or NULL. */
json_t *verdict_json(const struct verdict *v, const char *error);

/* The positions seen, as a short word: "all", "+1", "up to +4", "block 16", "some"; NULL for none. */
#define VERDICT_OFFSET_SIZE 32
const char *verdict_offset(char out[VERDICT_OFFSET_SIZE], const struct chart_shape *s);

#endif
