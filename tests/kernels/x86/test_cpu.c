#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kernels/x86/cpu.h"

/* What Linux says that the processor has is another source than the processor's own answer. */
Test(cpu, agrees_with_what_the_system_says)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    static char line[1 << 14];
    bool x86 = false, avx2 = false, wide = false, bf16 = false;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "flags", 5) == 0) {
            x86 = true;
            avx2 = strstr(line, " avx2 ") && strstr(line, " fma ");
            wide = strstr(line, " avx512f ") && strstr(line, " avx512bw ") && strstr(line, " avx512vl ");
            bf16 = strstr(line, " avx512_bf16 ") != NULL;
            break;
        }
    if (f)
        fclose(f);
    const enum isa best = cpu_best();
    if (!x86) {
        cr_assert(best <= ISA_AMX);
        return;
    }
    cr_assert_eq(best >= ISA_AVX2, avx2);
    cr_assert_eq(best >= ISA_AVX512, avx2 && wide);
    cr_assert_eq(best >= ISA_AVX512_BF16, avx2 && wide && bf16);
}

Test(cpu, says_the_same_twice)
{
    cr_assert_eq(cpu_best(), cpu_best());
}
