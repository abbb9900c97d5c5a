#include <criterion/criterion.h>
#include <stdint.h>

#include "base/checked.h"

Test(checked, products_that_fit_are_exact)
{
    size_t r = 7;
    cr_assert(checked_mul(&r, 0, SIZE_MAX));
    cr_assert_eq(r, 0u);
    cr_assert(checked_mul(&r, SIZE_MAX, 1));
    cr_assert_eq(r, SIZE_MAX);
    cr_assert(checked_mul(&r, SIZE_MAX / 3, 3));
    cr_assert_eq(r, SIZE_MAX / 3 * 3);
}

Test(checked, products_that_overflow_leave_the_result_alone)
{
    size_t r = 7;
    const size_t half = (size_t)1 << (sizeof(size_t) * 4);
    cr_assert_not(checked_mul(&r, half, half)); /* wraps to exactly 0 */
    cr_assert_not(checked_mul(&r, SIZE_MAX, 2));
    cr_assert_not(checked_mul(&r, SIZE_MAX / 2 + 1, 2));
    cr_assert_eq(r, 7u);
}

Test(checked, sums_stop_at_the_largest_size)
{
    size_t r = 7;
    cr_assert(checked_add(&r, SIZE_MAX - 1, 1));
    cr_assert_eq(r, SIZE_MAX);
    cr_assert_not(checked_add(&r, SIZE_MAX, 1));
    cr_assert_not(checked_add(&r, SIZE_MAX, SIZE_MAX));
    cr_assert_eq(r, SIZE_MAX);
}
