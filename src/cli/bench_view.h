/* What `nopeek bench` found, for people and for programs. */
#ifndef CLI_BENCH_VIEW_H
#define CLI_BENCH_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "lab/bench.h"
#include "lab/bench_attention.h"

/* The machine, the threads that run, and what the matrix products run on. */
void bench_view_machine(FILE *out, struct team team);

/* One shape: step, rates, memory, and the operations where they were measured. `name` is the preset's, or what else it
 * is to be called. Fits 80 columns. */
void bench_view_shape(FILE *out, const char *name, const struct bench *b, const struct bench_options *o);

/* Attention alone, one line a kernel. */
void bench_view_attention(FILE *out, const struct bench_attention results[BENCH_ATTENTION_KERNELS],
                          const struct bench_attention_options *o);

/* The same as a new object, NULL when memory is refused. What was not measured is null or missing. */
json_t *bench_view_shape_json(const char *name, const struct bench *b, const struct bench_options *o);
json_t *bench_view_attention_json(const struct bench_attention results[BENCH_ATTENTION_KERNELS],
                                  const struct bench_attention_options *o);

#endif
