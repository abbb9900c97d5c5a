#include "diag/blackbox_chart.h"

#include <criterion/criterion.h>
#include <math.h>

#include "support/puppet.h"

static struct blackbox_chart chart(size_t V, size_t T, puppet_weight *weight)
{
    struct puppet p;
    struct session s;
    struct blackbox_chart c;
    struct error err;
    puppet_make(&p, V, T, weight);
    puppet_open(&s, &p);
    cr_assert_eq(blackbox_chart(&c, &s, &err), STATUS_OK, "%s", err.message);
    puppet_close(&s);
    puppet_free(&p);
    return c;
}

static double window_of_four(size_t i, size_t j, size_t n)
{
    return (void)n, j <= i + 4 ? 1 / (double)(i + 5) : 0;
}
/* One of four heads has no mask. */
static double one_head(size_t i, size_t j, size_t n)
{
    return (3 * puppet_causal(i, j, n) + puppet_blind(i, j, n)) / 4;
}
/* +1 in each of three layers: fainter each time. */
static double chained(size_t i, size_t j, size_t n)
{
    return j <= i + 1 ? puppet_next(i, j, n) : j <= i + 3 ? 0.3 * pow(0.1, (double)(j - i)) : 0;
}
static double one_head_next(size_t i, size_t j, size_t n)
{
    return (7 * puppet_causal(i, j, n) + puppet_next(i, j, n)) / 8;
}

Test(blackbox_chart, names_each_pattern_and_its_strength)
{
    const struct {
        puppet_weight *weight;
        enum chart_pattern pattern;
        size_t number;
        double least, most; /* of the strength; none for a NaN */
    } cases[] = {{puppet_causal, CHART_CAUSAL, 0, 0, 0},           {puppet_blind, CHART_ALL_FUTURE, 0, 0.8, 1.25},
                 {one_head, CHART_ALL_FUTURE, 0, 0.02, 0.35},      {puppet_next, CHART_ONE_AHEAD, 1, 0.7, 1.4},
                 {one_head_next, CHART_ONE_AHEAD, 1, 0.02, 0.35},  {chained, CHART_ONE_AHEAD, 1, 0.7, 1.4},
                 {window_of_four, CHART_UP_TO_AHEAD, 4, 0.7, 1.4}, {puppet_block_16, CHART_WITHIN_BLOCK, 16, 0.7, 1.4}};
    /* whole answers, and a few rows of a large vocabulary */
    const size_t sizes[][2] = {{11, 50}, {3000, 70}};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const struct blackbox_chart c = chart(sizes[k][0], sizes[k][1], cases[i].weight);
            cr_assert_eq(c.shape.pattern, cases[i].pattern, "V %zu case %zu: pattern %d", sizes[k][0], i,
                         c.shape.pattern);
            if (cases[i].pattern == CHART_CAUSAL) {
                cr_assert(isnan(c.strength) && c.seen == 0 && c.largest == 0);
                continue;
            }
            cr_assert_eq(c.shape.number, cases[i].number, "V %zu case %zu: %zu", sizes[k][0], i, c.shape.number);
            cr_assert(c.strength >= cases[i].least && c.strength <= cases[i].most, "V %zu case %zu: %g", sizes[k][0], i,
                      c.strength);
            cr_assert_eq(c.chained, cases[i].weight == chained ? 3 : 0);
            cr_assert(c.seen > 0 && c.seen <= c.cells && c.largest > 0);
        }
}

static double transposed(size_t i, size_t j, size_t n)
{
    return j >= i ? 1 / (double)(n - i) : 0;
}

Test(blackbox_chart, a_transposed_mask_sees_no_earlier_token)
{
    const struct blackbox_chart c = chart(11, 50, transposed);
    cr_assert_eq(c.shape.pattern, CHART_ALL_FUTURE);
    cr_assert(c.backwards && !chart(11, 50, puppet_blind).backwards && !chart(11, 50, puppet_causal).backwards);
}

Test(blackbox_chart, a_context_of_two_has_one_cell)
{
    cr_assert_eq(chart(5, 2, puppet_causal).shape.pattern, CHART_CAUSAL);
    cr_assert_eq(chart(5, 2, puppet_blind).shape.pattern, CHART_ALL_FUTURE);
}
