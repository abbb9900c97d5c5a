/* Which instruction sets this processor has and this process may use. */
#ifndef KERNELS_X86_CPU_H
#define KERNELS_X86_CPU_H

#include "base/isa.h"

/* The best one. Asks the system for leave to use the matrix tiles where there are any: call it before threads start,
 * which inherit that leave. */
enum isa cpu_best(void);

#endif
