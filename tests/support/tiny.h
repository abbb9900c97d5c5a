/* A small model with a text to run it on, for tests. */
#ifndef SUPPORT_TINY_H
#define SUPPORT_TINY_H

#include <stddef.h>
#include <stdint.h>

#include "model/gpt.h"

struct tiny {
    struct gpt model;
    struct work work;           /* made for training */
    uint32_t *tokens, *targets; /* (micro * B, T) */
    size_t micro, B, T;
};

/* Every tensor, biases and gains included, gets numbers of a size that matters; stops the test on failure. */
void tiny_make(struct tiny *t, const struct config *c, size_t micro, size_t B, size_t T, int threads);
void tiny_free(struct tiny *t);

/* All numbers of one tensor; NULL when it is absent. */
real *tiny_tensor(const struct tiny *t, real *values, enum params_kind kind, size_t layer);

/* Makes the scores of a layer this many times larger: W_Q and b_Q. */
void tiny_sharpen(struct tiny *t, size_t layer, real factor);

/* forward, loss and backward of the first batch; grads are assigned, mean loss returned. */
double tiny_step(struct tiny *t, const struct gpt_pass *pass, real *grads);

/* max |a - b| */
double tiny_distance(const real *a, const real *b, size_t n);

#endif
