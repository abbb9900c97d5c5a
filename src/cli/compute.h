/* What this process computes with: threads, and the instruction set that NOPEEK_ISA in the environment may lower. */
#ifndef CLI_COMPUTE_H
#define CLI_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/team.h"

/* The names of enum precision, for an option: "fp32", "bf16". */
extern const char *const compute_precisions[];

/* STATUS_USAGE when NOPEEK_ISA names a set that this processor or build lacks; with products, STATUS_MEMORY when there
 * is no room for a matrix product. */
enum status compute_check(bool products, struct error *err);

/* The set that kernels use: NOPEEK_ISA's, or the best there is. */
enum isa compute_isa(void);

/* So many threads (0: one for each core this process may use), with the kernels of compute_isa. Where the system gives
 * fewer the team is of those, and stderr says so. The threads are kept until compute_end. */
struct team compute_team(size_t threads);
void compute_end(void);

/* What matrix products run on, without how it was built: "OpenBLAS 0.3.21 SkylakeX". Returns out. */
#define COMPUTE_LIBRARY_SIZE 128
const char *compute_library(char out[COMPUTE_LIBRARY_SIZE]);

/* The same of a library that calls itself `config`. */
const char *compute_library_of(char out[COMPUTE_LIBRARY_SIZE], const char *config);

#endif
