/* Speed and memory of training: whole steps (forward, loss, backward, gradient norm, clipping and AdamW) on random
 * symbols, held against this machine's own rate of matrix products, measured in between.
 *
 * Everything is measured in turns, a bout of each in every round, so that what disturbs the machine disturbs all alike;
 * figures are medians over all rounds. */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/team.h"
#include "model/config.h"
#include "model/laps.h"
#include "model/params.h"

struct bench_options {
    struct config config;
    size_t batch_size;
    struct team team;
    size_t repeats;   /* rounds, > 0 */
    double bout;      /* seconds that one measurement in a round lasts at least; 0: one step */
    size_t gemm_size; /* rows and columns of the products that measure the machine: PEAK_SIZE */
    bool steps;       /* measure training steps, and the machine's products beside them */
    bool details;     /* ... and the operations, one thread alone, and the cost of attention's entropy */
    bool generation;  /* measure writing */
    /* After each step. True stops with STATUS_INTERRUPTED. NULL: never asked. */
    bool (*stop)(void *context);
    /* After each measurement. True stops with STATUS_INTERRUPTED. NULL: never asked. */
    bool (*progress)(void *context, size_t done, size_t total);
    void *context;
};

/* Times in seconds, rates per second, medians all; what was not measured is 0. */
struct bench {
    size_t parameters, tokens;                    /* of the model; of a step */
    double step_flops;                            /* FLOP of one step: bench_step_flops */
    int threads;                                  /* that really ran */
    size_t steps;                                 /* measured */
    double step, step_least, step_low, step_high; /* median, fastest, quartiles */
    double gemm_flops;                            /* FLOP a second of large matrix products on all threads at once */
    double bf16_flops;                            /* ... in bf16; 0 when the model computes in fp32 */
    double one_thread;                            /* a step on one thread */
    double quiet;                                 /* a step in which attention logs neither entropy nor scores */
    double summary;                               /* reading the logs of one step */
    struct laps laps;                             /* seconds of each operation, on lane 0 */
    size_t arena_bytes;                           /* parameters, gradients, moments and activations */
    size_t peak_bytes;   /* most memory that was resident while training (memory.h); 0: unknown */
    double within, past; /* symbols a second, on one thread (pace.h) */
};

/* STATUS_RANGE, STATUS_MEMORY, STATUS_NONFINITE, STATUS_INTERRUPTED. */
enum status bench_run(struct bench *b, const struct bench_options *o, struct error *err);

/* 6 * tokens * parameters of the matrices and the output head, plus 6 * L * T * C * tokens for causal attention. */
double bench_step_flops(const struct params_table *t, const struct config *c, size_t B);

/* The part of it in one pass of one operation; 0 for those that are no matrix product. */
double bench_flops(const struct config *c, size_t B, enum laps_operation o, enum laps_pass p);

#endif
