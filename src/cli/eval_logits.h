/* eval --logits FILE: what the model says about the first window of a text, number by number, for comparing nopeek with
 * another program. */
#ifndef CLI_EVAL_LOGITS_H
#define CLI_EVAL_LOGITS_H

#include <stddef.h>

#include "base/status.h"
#include "base/team.h"
#include "model/gpt.h"
#include "text/dataset.h"

/* Writes a safetensors file: "tokens" (T), the first symbols of the part of the text that runs from begin to end, as
 * many as there are up to the context, begin < end; and "logits" (T,V), what the model has after each of them. Both are
 * F32, so ids from 2^24 on are rounded. STATUS_NONFINITE: a logit that is no finite number. STATUS_WRITE,
 * STATUS_MEMORY, STATUS_RANGE. */
enum status eval_logits(const char *path, const struct gpt *g, const struct dataset *d, size_t begin, size_t end,
                        struct team team, struct error *err);

#endif
