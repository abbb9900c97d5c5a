/* What a model is: GPT-2's architecture (Radford et al. 2019) at any size. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "kernels/attention_shape.h"

/* What matrix products compute with: how a model is run, not what it is, and no part of a checkpoint. */
enum precision {
    PRECISION_FP32,
    PRECISION_BF16, /* factors rounded to bf16, sums in fp32: kernels/gemm_bf16.h */
};

struct config {
    size_t n_layer;               /* L, 1 .. 4095 */
    size_t n_head;                /* H, 1 .. 4095, divides n_embd */
    size_t n_embd;                /* C */
    size_t head_size;             /* hs = C / H */
    size_t block_size;            /* context length, the largest T */
    size_t vocab_size;            /* V */
    bool bias;                    /* biases in linear layers and LayerNorms */
    bool tied;                    /* output matrix = token embedding (Press and Wolf 2016, arXiv:1608.05859) */
    double dropout;               /* 0 <= p < 1 */
    double norm_epsilon;          /* LayerNorm: 1e-5 */
    size_t window;                /* positions that a query sees, itself the last; 0 unless the rule is a window */
    enum attention_rule declared; /* what the model promises about attention */
    enum attention_rule trained;  /* what its training really did; unlike `declared` only in a leaky run */
    enum precision precision;     /* of passes over whole windows; decoding with a cache is fp32 */
};

/* GPT-2's defaults (biases, tied, epsilon 1e-5, causal) at the given sizes; head_size = C / H. */
struct config config_make(size_t n_layer, size_t n_head, size_t n_embd, size_t block_size, size_t vocab_size);

/* STATUS_RANGE, naming the setting, what it is and what it may be. The parameters of a config that passes, with their
 * gradients and moments, have a size in bytes that fits in size_t; activations are work_create's to check. */
enum status config_check(const struct config *c, struct error *err);

#endif
