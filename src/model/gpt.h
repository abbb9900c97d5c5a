/* The model: parameters, and the passes over whole windows. Decoding one symbol at a time is decode.h. */
#ifndef MODEL_GPT_H
#define MODEL_GPT_H

#include "base/real.h"
#include "base/status.h"
#include "model/config.h"
#include "model/params.h"

struct gpt {
    struct config config;
    struct params_table table;
    real *params;               /* (table.size) */
    enum attention_rule *rules; /* (L,H): what each head really does; config.trained everywhere, unless a
                                   fault is planted */
};

/* Allocates a model with all parameters zero (params_init fills them). Checks the config first.
 * STATUS_RANGE, STATUS_MEMORY; on failure nothing is left allocated. */
enum status gpt_create(struct gpt *g, const struct config *c, struct error *err);
void gpt_free(struct gpt *g);

#endif
