/* One function, compiled for several instruction sets; the loader takes the widest that this processor has. The source
 * fixes the order of every sum (vmath.h's lanes) and no contraction is allowed, so the bits are the same on all. */
#ifndef KERNELS_CLONES_H
#define KERNELS_CLONES_H

#include <stdint.h> /* says whether this is glibc */

/* Needs a loader with indirect functions: glibc. Sanitizers run before those are resolved. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(NOPEEK_SANITIZED) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
#ifndef CLONES
#define CLONES
#endif

#endif
