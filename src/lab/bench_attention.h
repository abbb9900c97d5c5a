/* Attention alone, forward and backward, as the text grows long: what a step's quadratic part costs. */
#ifndef LAB_BENCH_ATTENTION_H
#define LAB_BENCH_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/team.h"
#include "lab/lone_attention.h"

#define BENCH_ATTENTION_KERNELS LONE_KINDS

struct bench_attention_options {
    size_t B, H, hs, T; /* > 0 (asserted); causal, packed q, k and v as in training */
    struct team team;
    size_t repeats;                                             /* rounds, > 0; each kernel has its turn in every one */
    double bout;                                                /* seconds that a turn lasts at least; 0: once */
    bool (*progress)(void *context, size_t done, size_t total); /* as in bench.h */
    void *context;
};

/* Of one kernel: medians, in seconds; all memory, q, k, v, y and their gradients included. */
struct bench_attention {
    const char *name;
    double forward, backward;
    size_t bytes;
};

/* STATUS_RANGE, STATUS_MEMORY, STATUS_INTERRUPTED. */
enum status bench_attention_run(struct bench_attention out[BENCH_ATTENTION_KERNELS],
                                const struct bench_attention_options *o, struct error *err);

/* 6 T C for each of B * T positions, C = H * hs: two products of half a triangle forward, four backward. */
double bench_attention_flops(const struct bench_attention_options *o);

#endif
