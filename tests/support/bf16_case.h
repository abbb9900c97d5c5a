/* What every inner kernel of gemm_bf16 is held to, one by one and alone. */
#ifndef SUPPORT_BF16_CASE_H
#define SUPPORT_BF16_CASE_H

#include <criterion/criterion.h>

#include "kernels/x86/bf16_kernel.h"

/* All row counts up to the kernel's own, columns around the half and the whole panel, depths of one block and several,
 * assigned and added, with numbers around the result that must stay. Skipped where the processor lacks the set. */
void bf16_case_shapes(struct bf16_choice kernel, enum isa needs);
void bf16_case_faults(struct bf16_choice kernel, enum isa needs);

#endif
