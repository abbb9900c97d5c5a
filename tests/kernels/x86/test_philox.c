#include <criterion/criterion.h>

#include "kernels/x86/philox.h"
#include "support/machine.h"

Test(philox, many_blocks_at_once_are_those_that_come_one_by_one)
{
    static const uint32_t firsts[] = {0, 1, 12345, 0xffffffeau}; /* the last wraps, as a single block would */
    const struct rng_site sites[] = {{.seed = 5, .purpose = RNG_TEST},
                                     {~0ull, RNG_DROP_MLP, 0xfffffffeu, 0xfffffffdu, 4095, 4095}};
    cr_assert_not(philox_wide(ISA_PORTABLE, NULL, NULL), "plain C has rng_philox");
    for (int isa = ISA_AVX2; isa <= (int)support_isa(); isa++)
        for (size_t s = 0; s < 2; s++)
            for (size_t k = 0; k < 4; k++) {
                uint32_t wide[PHILOX_DRAWS], four[4];
                struct rng_start start = rng_start(&sites[s]);
                start.counter[0] = firsts[k];
                cr_assert(philox_wide((enum isa)isa, wide, &start));
                for (uint32_t i = 0; i < PHILOX_DRAWS / 4; i++) {
                    rng_block(four, &sites[s], firsts[k] + i);
                    for (size_t j = 0; j < 4; j++)
                        cr_assert_eq(wide[4 * i + j], four[j], "%s: draw %zu of block %u", isa_name((enum isa)isa), j,
                                     firsts[k] + i);
                }
            }
}
