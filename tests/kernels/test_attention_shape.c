#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>

#include "kernels/attention_shape.h"
#include "support/oracle.h"

Test(attention_shape, causal_rule_shows_each_query_itself_and_the_past_aligned_to_the_end)
{
    for (size_t T_k = 1; T_k <= 17; T_k++)
        for (size_t T_q = 1; T_q <= T_k; T_q++)
            for (size_t i = 0; i < T_q; i++) {
                const struct attention_interval keys = attention_shape_keys(ATTENTION_CAUSAL, 0, T_q, T_k, i);
                const size_t here = T_k - (T_q - i); /* the last query stands at the last key */
                for (size_t j = 0; j < T_k; j++)
                    cr_assert((j >= keys.begin && j < keys.end) == (j <= here), "T_q %zu, T_k %zu, query %zu, key %zu",
                              T_q, T_k, i, j);
                cr_assert(keys.end <= T_k);
            }
}

Test(attention_shape, full_rule_shows_every_key)
{
    for (size_t T_k = 1; T_k <= 17; T_k++)
        for (size_t T_q = 1; T_q <= T_k; T_q++)
            for (size_t i = 0; i < T_q; i++) {
                const struct attention_interval keys = attention_shape_keys(ATTENTION_FULL, 0, T_q, T_k, i);
                cr_assert(keys.begin == 0 && keys.end == T_k);
            }
}

Test(attention_shape, window_rule_shows_the_last_positions_up_to_the_query)
{
    for (size_t window = 0; window <= 18; window++)
        for (size_t T_k = 1; T_k <= 17; T_k++)
            for (size_t T_q = 1; T_q <= T_k; T_q++)
                for (size_t i = 0; i < T_q; i++) {
                    const struct attention_interval keys = attention_shape_keys(ATTENTION_WINDOW, window, T_q, T_k, i);
                    const size_t here = T_k - (T_q - i);
                    for (size_t j = 0; j < T_k; j++)
                        cr_assert((j >= keys.begin && j < keys.end) == (j <= here && j + window > here),
                                  "window %zu, T_q %zu, T_k %zu, query %zu, key %zu", window, T_q, T_k, i, j);
                    cr_assert(keys.begin <= keys.end && keys.end <= T_k);
                }
}

Test(attention_shape, unknown_rule_is_refused, .signal = SIGABRT)
{
    attention_shape_keys((enum attention_rule)7, 0, 1, 1, 0);
}

static const enum attention_rule two_rules[] = {ATTENTION_CAUSAL, ATTENTION_FULL};
static const struct attention_shape good = {
    .B = 1, .H = 2, .H_kv = 1, .hs = 3, .T_q = 2, .T_k = 4, .scale = 1, .rules = two_rules};

Test(attention_shape, good_shape_is_accepted)
{
    attention_shape_assert(&good);
}

/* One refusal per test: an assertion ends the process. */
#define REFUSED(name, change)                                                                                          \
    Test(attention_shape, name, .signal = SIGABRT)                                                                     \
    {                                                                                                                  \
        struct attention_shape s = good;                                                                               \
        s.change;                                                                                                      \
        attention_shape_assert(&s);                                                                                    \
    }
REFUSED(more_queries_than_keys_are_refused, T_q = 5)
REFUSED(heads_that_key_heads_do_not_divide_are_refused, H_kv = 3)
REFUSED(missing_rules_are_refused, rules = NULL)
REFUSED(no_batch_is_refused, B = 0)
REFUSED(no_heads_are_refused, H = 0)
REFUSED(no_key_heads_are_refused, H_kv = 0)
REFUSED(no_channels_are_refused, hs = 0)
REFUSED(no_queries_are_refused, T_q = 0)

Test(attention_shape, summary_is_the_mean_share_of_the_largest_entropy_and_the_largest_score)
{
    struct pool pool = {0};
    struct attention_shape s = good;
    s.B = 3;
    s.T_q = s.T_k = 5;
    const size_t rows = s.B * s.H * s.T_q;
    real *entropy = pool_normal(&pool, rows, 1, 1), *max = pool_normal(&pool, rows, 2, 4);
    const struct attention_rows r = {.entropy = entropy, .max_score = max};
    double share[2], largest[2];
    attention_shape_summary(share, largest, &r, &s);
    for (size_t h = 0; h < 2; h++) {
        double sum = 0, with_first = 0, top = -INFINITY;
        for (size_t b = 0; b < 3; b++)
            for (size_t i = 0; i < 5; i++) {
                const size_t row = (b * 2 + h) * 5 + i, keys = h == 0 ? i + 1 : 5;
                if (keys > 1)
                    sum += (double)entropy[row] / log((double)keys);
                with_first += (double)entropy[row] / log((double)(keys > 1 ? keys : 2));
                top = fmax(top, (double)max[row]);
            }
        const double want = sum / (h == 0 ? 12 : 15); /* a causal head's first row sees one key: left out */
        cr_assert(fabs(share[h] - want) <= 1e-12, "head %zu: %g, not %g", h, share[h], want);
        cr_assert(h == 1 || fabs(share[h] - with_first / 15) > 1e-3, "the harness misses a first row counted in");
        cr_assert(largest[h] == top);
    }
    pool_free(&pool);
}

Test(attention_shape, summary_is_one_for_uniform_and_zero_for_one_hot_rows)
{
    real uniform[8], one_hot[8] = {0}, max[8] = {0};
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < 4; i++)
            uniform[h * 4 + i] = (real)log(h == 0 ? (double)(i + 1) : 4);
    struct attention_shape s = good;
    s.T_q = s.T_k = 4;
    double share[2], largest[2];
    attention_shape_summary(share, largest, &(struct attention_rows){.entropy = uniform, .max_score = max}, &s);
    cr_assert(fabs(share[0] - 1) < 1e-6 && fabs(share[1] - 1) < 1e-6);
    cr_assert(share[0] <= 1 && share[1] <= 1);
    attention_shape_summary(share, largest, &(struct attention_rows){.entropy = one_hot, .max_score = max}, &s);
    cr_assert(share[0] == 0 && share[1] == 0);
}

Test(attention_shape, summary_is_never_above_one_at_any_length)
{
    for (size_t T = 2; T <= 64; T++) {
        real uniform[2 * 64], max[2 * 64] = {0};
        struct attention_shape s = good;
        s.T_q = s.T_k = T;
        for (size_t i = 0; i < 2 * T; i++)
            uniform[i] = (real)log(i < T ? (double)(i + 1) : (double)T);
        double share[2], largest[2];
        attention_shape_summary(share, largest, &(struct attention_rows){.entropy = uniform, .max_score = max}, &s);
        cr_assert(share[0] <= 1 && share[1] <= 1, "%zu keys: %.17g and %.17g", T, share[0], share[1]);
    }
}

Test(attention_shape, summary_of_rows_that_see_one_key_is_nan_and_a_nan_score_stays)
{
    struct attention_shape s = good;
    s.T_q = s.T_k = 1;
    const real entropy[2] = {0, 0};
    real max[2] = {3, (real)NAN};
    double share[2], largest[2];
    attention_shape_summary(share, largest, &(struct attention_rows){.entropy = (real *)entropy, .max_score = max}, &s);
    cr_assert(isnan(share[0]) && isnan(share[1]) && largest[0] == 3 && isnan(largest[1]));
    /* first, in the middle and last: no later number hides it */
    for (size_t at = 0; at < 4; at++) {
        real scores[8] = {1, 2, 3, 4, 1, 2, 3, 4}, none[8] = {0};
        scores[at] = (real)NAN;
        s.T_q = s.T_k = 4;
        attention_shape_summary(share, largest, &(struct attention_rows){.entropy = none, .max_score = scores}, &s);
        cr_assert(isnan(largest[0]) && largest[1] == 4, "NaN in row %zu", at);
    }
}
