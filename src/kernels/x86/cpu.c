#if defined(__linux__)
#define _GNU_SOURCE /* syscall */
#endif

#include "kernels/x86/cpu.h"

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Intel SDM volume 1, 18: state component 18 holds the tiles; Linux gives it on request (ARCH_REQ_XCOMP_PERM). */
#define TILE_DATA 18
#define REQUEST 0x1023

static bool tiles_granted(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}

enum isa cpu_best(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return ISA_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return ISA_AVX2;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 5 & 1)) /* AVX512_BF16 */
        return ISA_AVX512;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    const bool tiles = (d >> 22 & 1) && (d >> 24 & 1); /* AMX-BF16, AMX-TILE */
    return tiles && tiles_granted() ? ISA_AMX : ISA_AVX512_BF16;
}
#else
enum isa cpu_best(void)
{
    return ISA_PORTABLE;
}
#endif
