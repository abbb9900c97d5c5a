#include "kernels/attention_row.h"

#include <criterion/criterion.h>
#include <math.h>

#include "kernels/gemm.h"
#include "support/attention_case.h"

TestSuite(attention_row, .init = gemm_setup);

/* One head, one query, keys that it sees: everything against the oracle, with NaN in every key that it does not see. */
static void check(size_t T_k, size_t hs, size_t window, double scores, bool logged, bool keep)
{
    const struct attention_sizes sizes = {1, 1, 1, hs, 1, T_k};
    struct attention_case c;
    attention_case_init(&c, &sizes, ATTENTION_CACHE, scores, false, 0);
    c.rules[0] = ATTENTION_WINDOW;
    c.shape.window = window;
    const struct attention_interval seen = attention_shape_keys(ATTENTION_WINDOW, window, 1, T_k, 0);
    c.weights = NULL;
    attention_row_forward(&lane_alone, c.y, logged ? &c.rows : NULL, keep ? &c.kept : NULL, 0, c.q, c.k, c.v, &c.shape,
                          seen);
    const struct attention_errors e = attention_case_errors(&c, ATTENTION_CASE_RIGHT);
    const double limit = (16 + scores) * (double)REAL_EPSILON;
    cr_assert(e.y <= limit && e.gaps_untouched, "%zu keys, hs %zu, window %zu: %g", T_k, hs, window, e.y);
    if (logged) /* a score alone may be far smaller than the terms that it sums */
        cr_assert(e.lse <= limit && e.entropy <= limit && e.max_score <= 32 * limit, "%zu keys, hs %zu", T_k, hs);
    else
        cr_assert(isnan(c.rows.lse[0]));
    if (keep && logged)
        cr_assert(fabs((double)c.kept.max[0] - log((double)c.kept.share[0]) - (double)c.rows.lse[0]) <= 64 * limit);
    real plain[64];
    for (size_t n = 0; n < hs; n++)
        plain[n] = c.y[n];
    for (size_t j = 0; j < seen.begin; j++)
        c.k[j * c.shape.k_stride] = c.v[j * c.shape.v_stride] = (real)NAN;
    attention_row_forward(&lane_alone, c.y, logged ? &c.rows : NULL, NULL, 0, c.q, c.k, c.v, &c.shape, seen);
    for (size_t n = 0; n < hs; n++)
        cr_assert(c.y[n] == plain[n], "a key that is not seen was read");
    attention_case_free(&c);
}

Test(attention_row, matches_the_oracle_at_any_number_of_keys)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 131, 257}, widths[] = {1, 5, 16, 33, 64};
    for (size_t n = 0; n < 13; n++)
        for (size_t w = 0; w < 5; w++) {
            check(lengths[n], widths[w], lengths[n], 1, true, true);
            check(lengths[n], widths[w], lengths[n] / 2 + 1, 1, true, false);
            check(lengths[n], widths[w], 1, 1, false, true);
            check(lengths[n], widths[w], lengths[n], 30, true, true);
        }
}

Test(attention_row, a_query_that_sees_nothing_gives_zeros)
{
    const struct attention_sizes sizes = {1, 1, 1, 5, 1, 9};
    struct attention_case c;
    attention_case_init(&c, &sizes, ATTENTION_DENSE, 1, false, 0);
    attention_row_forward(&lane_alone, c.y, &c.rows, &c.kept, 0, c.q, c.k, c.v, &c.shape,
                          (struct attention_interval){9, 9});
    for (size_t n = 0; n < 5; n++)
        cr_assert(c.y[n] == 0);
    cr_assert(c.rows.lse[0] == -INFINITY && c.kept.max[0] == 0 && c.kept.share[0] == 0 && c.rows.entropy[0] == 0);
    attention_case_free(&c);
}
