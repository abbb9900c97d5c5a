/* Instruction sets that kernels have variants for. Each includes all before it, so that a kernel without a variant of
 * its own for one takes the widest below. kernels/x86/cpu.h says which this processor has. */
#ifndef BASE_ISA_H
#define BASE_ISA_H

#include "base/status.h"

enum isa {
    ISA_PORTABLE,    /* plain C: every machine */
    ISA_AVX2,        /* x86: 256-bit vectors, fused multiply-add */
    ISA_AVX512,      /* 512-bit vectors (F, BW, DQ, VL) */
    ISA_AVX512_BF16, /* ... with products of bf16 pairs */
    ISA_AMX,         /* ... with tiles of bf16 */
    ISA_COUNT
};

/* "portable", "avx2", "avx512", "avx512-bf16", "amx". */
const char *isa_name(enum isa isa);

/* The set of that name, if it is one of those up to `best`; STATUS_USAGE names those. */
enum status isa_parse(enum isa *isa, const char *name, enum isa best, struct error *err);

#endif
