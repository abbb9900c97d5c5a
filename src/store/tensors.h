/* A model's parameters and AdamW's moments as safetensors files. Names and shapes are the parameter table's,
 * which are GPT-2's; a moment's name is the tensor's with "m." or "v." in front. */
#ifndef STORE_TENSORS_H
#define STORE_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/status.h"
#include "io/safetensors.h"
#include "model/gpt.h"
#include "model/params.h"

/* The bytes of a model file (free them); absent biases are written as zeros. STATUS_MEMORY, STATUS_RANGE. */
enum status tensors_build_model(uint8_t **bytes, size_t *size, const struct gpt *g, struct error *err);

/* The bytes of an optimizer file: m and v, each (t->size), of the tensors that are present. */
enum status tensors_build_moments(uint8_t **bytes, size_t *size, const struct params_table *t, const real *m,
                                  const real *v, struct error *err);

/* A model's tensors, in one file or more. No name is in two of them. */
struct tensors_set {
    struct safetensors *file; /* (count) */
    size_t count;
    bool bare;        /* names lack GPT-2's "transformer." in front, as those of a model without its output matrix */
    const char *name; /* for messages: the file, or the list of files */
};

/* As tensors_check_model and tensors_read_model below, for such a set. */
enum status tensors_check_set(const struct tensors_set *set, const struct config *c, struct error *err);
enum status tensors_read_set(struct gpt *g, const struct tensors_set *set, struct error *err);

/* Whether every tensor that c's model does without is all zeros in a set that tensors_check_set passed.
 * STATUS_FORMAT, STATUS_NONFINITE, STATUS_MEMORY. */
enum status tensors_absent_zero(bool *zero, const struct tensors_set *set, const struct config *c, struct error *err);

/* Compares a model file with the model that a checked config describes, before memory is taken for it: every
 * tensor there, of the right shape, and none besides but what GPT-2 files of other programs hold (attention mask
 * buffers, the output matrix of a tied model). STATUS_FORMAT, STATUS_MEMORY. */
enum status tensors_check_model(struct safetensors *s, const struct config *c, struct error *err);

/* Fills g->params from a file that tensors_check_model passed, which is read in its own order (safetensors_hash).
 * STATUS_NONFINITE naming tensor and place; STATUS_FORMAT for a type that holds no floats, a bias that must be zero and
 * is not, an output matrix of a tied model that is not its token embedding; STATUS_MEMORY. */
enum status tensors_read_model(struct gpt *g, struct safetensors *s, struct error *err);

/* Fills m and v, each (t->size), reading the file in its own order. STATUS_FORMAT for a tensor that lacks, is too many
 * or of another shape, and for a v below zero; STATUS_NONFINITE. */
enum status tensors_read_moments(real *m, real *v, const struct params_table *t, struct safetensors *s,
                                 struct error *err);

#endif
