/* A record of metrics.jsonl that shows where every head looks, in the same short text at each evaluation: a film of
 * how attention comes about, however few checkpoints are kept.
 *
 *     {"kind":"attention", "step", "shape":"lower", "labels":[T], "weights":"..."}
 *
 * labels name the symbols, as inspect does; weights are those that `nopeek inspect` gives for that text, the very fp32
 * numbers (diag/attention_pack.h), of rows that end at the diagonal ("lower") or of whole rows ("square"). */
#ifndef TRAIN_ATTENTION_RECORD_H
#define TRAIN_ATTENTION_RECORD_H

#include <stddef.h>

#include "base/status.h"
#include "base/team.h"
#include "io/metrics.h"
#include "model/gpt.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

/* The most that is recorded: symbols of text, and bytes of one record's weights. */
#define ATTENTION_RECORD_SYMBOLS ((size_t)64)
#define ATTENTION_RECORD_BYTES ((size_t)192 << 10)

/* What one takes in the log, about; 0: there is none for so many heads. */
size_t attention_record_bytes(const struct config *c);

/* Of the beginning of the validation part, or of the text where that part is empty. *record is NULL, with STATUS_OK,
 * for a model of so many heads that not even two symbols fit. Nothing of the model or of training changes; in fp32
 * whatever the model's precision, as saved models are looked at. STATUS_RANGE, STATUS_NONFINITE as
 * attention_map_make; STATUS_MEMORY. */
enum status attention_record_make(json_t **record, const struct gpt *g, const struct tokenizer *tokenizer,
                                  const struct dataset *data, size_t step, struct team team, struct error *err);

#endif
