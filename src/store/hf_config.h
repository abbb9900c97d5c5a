/* config.json, as Hugging Face's GPT-2 writes and reads it; what GPT-2 has no key for stands in an object "nopeek":
 *     "version"    1
 *     "bias"       whether the model has biases; without them the files hold zeros
 *     "head_size"  n_embd / n_head
 *     "attention"  "causal" or "full": what the model promises
 *     "trained"    likewise: what its training did */
#ifndef STORE_HF_CONFIG_H
#define STORE_HF_CONFIG_H

#include <jansson.h>

#include "base/status.h"
#include "model/config.h"

/* A new reference; NULL when memory is refused. */
json_t *hf_config_make(const struct config *c);

/* The config that a config.json describes, checked. Every key that decides what the model computes must be what
 * nopeek computes (architecture, activation, attention scaling, one dropout); others are ignored. Without "nopeek",
 * as other programs write it, the model has biases and is causal. `name` begins the message.
 * STATUS_FORMAT naming key, found and expected; STATUS_RANGE from config_check. */
enum status hf_config_read(struct config *c, const json_t *json, const char *name, struct error *err);

/* Where a folder of another program leaves nopeek a choice. */
struct hf_config_foreign {
    double embd_pdrop, attn_pdrop, resid_pdrop; /* the model's one dropout is the last */
};

/* The same for a folder that is to be taken over, as transformers itself would read it: a missing size is GPT-2's, a
 * model without its output matrix (GPT2Model) will do, dropouts may differ (they decide nothing but training), and
 * n_ctx is not looked at. */
enum status hf_config_read_foreign(struct config *c, struct hf_config_foreign *found, const json_t *json,
                                   const char *name, struct error *err);

#endif
