#include "model/config.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "base/checked.h"
#include "base/real.h"

#define MOST 4095 /* layers and heads: they share a word of the random counter */

struct config config_make(size_t n_layer, size_t n_head, size_t n_embd, size_t block_size, size_t vocab_size)
{
    return (struct config){
        .n_layer = n_layer,
        .n_head = n_head,
        .n_embd = n_embd,
        .head_size = n_head ? n_embd / n_head : 0,
        .block_size = block_size,
        .vocab_size = vocab_size,
        .bias = true,
        .tied = true,
        .norm_epsilon = 1e-5,
        .declared = ATTENTION_CAUSAL,
        .trained = ATTENTION_CAUSAL,
    };
}

static enum status check_range(const char *name, size_t value, size_t most, struct error *err)
{
    if (value < 1 || value > most)
        return fail(err, STATUS_RANGE, "%s is %zu: choose 1 to %zu", name, value, most);
    return STATUS_OK;
}

/* An upper bound of the number of parameters, with room for gradients and moments in bytes. */
static bool fits(const struct config *c)
{
    size_t square, per_layer, blocks, token, position, sum, bytes;
    return checked_mul(&square, c->n_embd, c->n_embd) && checked_mul(&per_layer, square, 12) &&
           checked_add(&per_layer, per_layer, 13 * c->n_embd) && checked_mul(&blocks, per_layer, c->n_layer) &&
           checked_mul(&token, c->vocab_size, c->n_embd) && checked_mul(&token, token, 2) &&
           checked_mul(&position, c->block_size, c->n_embd) && checked_add(&sum, blocks, token) &&
           checked_add(&sum, sum, position) && checked_mul(&bytes, sum, 8 * sizeof(real));
}

enum status config_check(const struct config *c, struct error *err)
{
    const size_t most_wide = (size_t)1 << 20, most_long = (size_t)1 << 30;
    enum status s = check_range("n_layer", c->n_layer, MOST, err);
    if (!s)
        s = check_range("n_head", c->n_head, MOST, err);
    if (!s)
        s = check_range("n_embd", c->n_embd, most_wide, err);
    if (!s)
        s = check_range("block_size", c->block_size, most_long, err);
    if (!s)
        s = check_range("vocab_size", c->vocab_size, most_long, err);
    if (s)
        return s;
    if (c->n_embd % c->n_head != 0)
        return fail(err, STATUS_RANGE, "n_embd is %zu and n_head %zu: n_embd must be a multiple of n_head", c->n_embd,
                    c->n_head);
    if (c->head_size != c->n_embd / c->n_head)
        return fail(err, STATUS_RANGE, "head_size is %zu: it must be n_embd / n_head = %zu", c->head_size,
                    c->n_embd / c->n_head);
    const bool windowed = c->declared == ATTENTION_WINDOW || c->trained == ATTENTION_WINDOW;
    if (windowed ? c->window < 1 || c->window > c->block_size : c->window != 0)
        return fail(err, STATUS_RANGE,
                    windowed ? "window is %zu: choose 1 to block_size, %zu"
                             : "window is %zu, but no rule of the model is a window: it must be 0",
                    c->window, c->block_size);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return fail(err, STATUS_RANGE, "dropout is %g: choose at least 0 and less than 1", c->dropout);
    /* Below the smallest normal float it would be 0 in the kernels, and a constant row 0 / 0. */
    if (!(c->norm_epsilon >= (double)FLT_MIN && c->norm_epsilon <= 1))
        return fail(err, STATUS_RANGE, "layer_norm_epsilon is %g: choose at least %g and at most 1", c->norm_epsilon,
                    (double)FLT_MIN);
    if (!fits(c))
        return fail(err, STATUS_RANGE,
                    "a model of %zu layers, %zu channels, context %zu and %zu symbols has more parameters than this "
                    "machine can address: choose smaller sizes",
                    c->n_layer, c->n_embd, c->block_size, c->vocab_size);
    return STATUS_OK;
}
