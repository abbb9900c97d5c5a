#include "diag/blackbox_suffix.h"

#include <criterion/criterion.h>

#include "support/puppet.h"

static struct blackbox_suffix suffix(size_t V, size_t T, puppet_weight *weight)
{
    struct puppet p;
    struct session s;
    struct blackbox_suffix f;
    struct error err;
    puppet_make(&p, V, T, weight);
    puppet_open(&s, &p);
    cr_assert_eq(blackbox_suffix(&f, &s, &err), STATUS_OK, "%s", err.message);
    puppet_close(&s);
    puppet_free(&p);
    return f;
}

Test(blackbox_suffix, tries_every_place_of_a_causal_model_and_sees_no_change)
{
    for (size_t T = 2; T < 40; T += T < 6 ? 1 : 11) {
        const struct blackbox_suffix f = suffix(7, T, puppet_causal);
        cr_assert_eq(f.tried, T - 1);
        cr_assert_eq(f.possible, T - 1);
        cr_assert_eq(f.change, 0);
    }
}

/* Only the answer at 36 sees anything, and that one token, at the window's one length. */
static double one_cell(size_t i, size_t j, size_t n)
{
    return puppet_causal(i, j, n) + (n == 40 && i == 36 && j == 37 ? 0.01 : 0);
}
static double in_short_windows(size_t i, size_t j, size_t n)
{
    return puppet_causal(i, j, n) + (n <= 3 && j > i ? 0.01 : 0);
}

Test(blackbox_suffix, one_cell_and_short_windows_are_enough)
{
    const struct blackbox_suffix cell = suffix(7, 40, one_cell);
    cr_assert_gt(cell.change, 1e-4);
    cr_assert(cell.place <= 37 && cell.row == 36);
    cr_assert_gt(suffix(7, 40, in_short_windows).change, 1e-4);
}

/* The same where an answer holds a few rows only: those next to the change are always among them. */
Test(blackbox_suffix, a_large_vocabulary_is_asked_for_rows)
{
    cr_assert_eq(suffix(3000, 64, puppet_causal).change, 0);
    const struct blackbox_suffix f = suffix(3000, 64, puppet_next);
    cr_assert_gt(f.change, 1e-4);
    cr_assert_eq(f.row + 1, f.place);
}
