/* What this process computes with: threads, and the instruction set that NOPEEK_ISA in the environment may lower. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <stddef.h>

#include "base/status.h"
#include "base/team.h"

/* The names of enum precision, for an option: "fp32", "bf16". */
extern const char *const machine_precisions[];

/* STATUS_USAGE when NOPEEK_ISA names a set that this processor or build lacks. */
enum status machine_check(struct error *err);

/* The set that kernels use: NOPEEK_ISA's, or the best there is. */
enum isa machine_isa(void);

/* So many threads (0: one for each core this process may use), with the kernels of machine_isa. */
struct team machine_team(size_t threads);

#endif
