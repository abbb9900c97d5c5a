#include "model/fault.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/rng.h"
#include "support/oracle.h"

Test(fault, of_attention_shows_in_its_layer_and_only_when_it_should)
{
    struct fault f = {.attention = ATTENTION_FAULT_NO_MASK, .layer = 2};
    cr_assert_eq(fault_attention(NULL, 2, true, true, true), ATTENTION_FAULT_NONE);
    cr_assert_eq(fault_attention(&f, 1, false, false, false), ATTENTION_FAULT_NONE);
    cr_assert_eq(fault_attention(&f, 2, false, false, false), ATTENTION_FAULT_NO_MASK);
    f.layer = FAULT_EVERYWHERE;
    cr_assert_eq(fault_attention(&f, 1, false, false, false), ATTENTION_FAULT_NO_MASK);
    const enum fault_when when[] = {FAULT_WITH_DROPOUT, FAULT_WHEN_LOGGED, FAULT_IN_PREFILL};
    for (int k = 0; k < 3; k++) {
        f.when = when[k];
        for (int in = 0; in < 3; in++)
            cr_assert_eq(fault_attention(&f, 0, in == 0, in == 1, in == 2) != ATTENTION_FAULT_NONE, in == k);
    }
}

/* <A x, y> = <x, A' y> for every mixing, and rows do get mixed. */
Test(fault, mixing_has_its_transpose)
{
    enum { B = 3, T = 7, W = 5, N = B * T * W };
    for (int mixing = FAULT_TIME_MEAN; mixing <= FAULT_BATCH_NEXT; mixing++) {
        struct pool pool = {0};
        const struct fault f = {.mixing = (enum fault_mixing)mixing, .place = FAULT_LN2, .block = 3, .layer = 1};
        real *x = pool_normal(&pool, N, 1, 1), *y = pool_normal(&pool, N, 2, 1);
        real *ax = pool_copy(&pool, x, N), *aty = pool_copy(&pool, y, N);
        fault_mix(&lane_alone, &f, FAULT_LN1, 1, ax, B, T, W, false);
        fault_mix(&lane_alone, &f, FAULT_LN2, 0, ax, B, T, W, false);
        cr_assert_eq(memcmp(ax, x, N * sizeof *x), 0, "another place, another layer");
        fault_mix(&lane_alone, &f, FAULT_LN2, 1, ax, B, T, W, false);
        fault_mix(&lane_alone, &f, FAULT_LN2, 1, aty, B, T, W, true);
        cr_assert_neq(memcmp(ax, x, N * sizeof *x), 0);
        double left = 0, right = 0;
        for (size_t k = 0; k < N; k++) {
            left += (double)ax[k] * (double)y[k];
            right += (double)x[k] * (double)aty[k];
        }
        cr_assert_float_eq(left, right, 1e-4, "mixing %d: %g, %g", mixing, left, right);
        pool_free(&pool);
    }
}
