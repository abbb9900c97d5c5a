/* A checkpoint: one folder that transformers, safetensors and tokenizers read as a GPT-2 model, and that
 * nopeek resumes from. Written whole or not at all; verified when read. */
#ifndef STORE_CHECKPOINT_H
#define STORE_CHECKPOINT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/status.h"
#include "io/json_text.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

/* AdamW's state, each (model table.size). */
struct checkpoint_moments {
    real *m, *v;
};

struct checkpoint {
    char *path; /* the checkpoint folder itself */
    struct gpt model;
    struct tokenizer tokenizer;
    json_t *state;                     /* trainer_state.json; NULL in a folder that has none */
    struct checkpoint_moments moments; /* NULL, NULL unless asked for */
};

/* Writes DIR/step-NNNNNN (six digits or more): model.safetensors, config.json, tokenizer.json,
 * tokenizer_config.json, optimizer.safetensors, trainer_state.json. `state` is the trainer's object (borrowed, may be
 * NULL); "format", "step", "files" (hash of every other file) and "hash" (of all the rest of it) are
 * added to a copy of it. `moments` may be NULL:
 * then there is no optimizer.safetensors, and nothing resumes from the folder. A step that is there is moved aside.
 * STATUS_WRITE, STATUS_MEMORY, STATUS_RANGE. */
enum status checkpoint_write(const char *dir, size_t step, const struct gpt *model, const struct tokenizer *tokenizer,
                             const struct checkpoint_moments *moments, const json_t *state, struct error *err);

/* What config.json, tokenizer.json and trainer_state.json may be at most. */
extern const struct json_limits checkpoint_config_limits, checkpoint_tokenizer_limits, checkpoint_state_limits;

/* Reads one checkpoint folder, its own or of another program that fits (then state is NULL). File hashes, where
 * trainer_state.json has them, are verified (the optimizer's only when it is read), on the very bytes that are used: a
 * JSON file is hashed and parsed in the same memory, a tensor hashed in the memory that it was read into. So are config
 * against tensor shapes before memory is taken, tokenizer size against vocab_size, zero biases of a model without them,
 * finite weights, and the folder's name against the step. Files are read, not mapped: one that is cut off meanwhile is
 * an error. with_optimizer  also reads the moments; a folder without them is refused (STATUS_FORMAT: it can be sampled
 *                   from, but not resumed)
 * STATUS_OPEN, STATUS_READ, STATUS_FORMAT, STATUS_RANGE, STATUS_NONFINITE, STATUS_MEMORY. On failure c is left empty.
 */
enum status checkpoint_read(struct checkpoint *c, const char *folder, bool with_optimizer, struct error *err);
void checkpoint_free(struct checkpoint *c);

#endif
