/* How the processor computes with floating point, which a library may have changed for the whole program: one linked
 * with -ffast-math switches subnormal numbers off as it is loaded, and all later results with it. */
#ifndef BASE_FPU_H
#define BASE_FPU_H

/* Sets it as C has it: rounding to nearest, subnormal numbers kept, no traps. For the calling thread and, on Linux,
 * those that it starts afterwards. */
void fpu_reset(void);

#endif
