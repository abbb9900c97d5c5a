#include "text/ngram.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

/* A text of n symbols, the last tenth of which validates. */
static struct dataset make(size_t n, uint32_t (*symbol)(size_t i))
{
    struct dataset d = {.ids = malloc(n * sizeof(uint32_t)), .width = 4, .count = n, .train = n - n / 10};
    cr_assert_not_null(d.ids);
    for (size_t i = 0; i < n; i++)
        ((uint32_t *)d.ids)[i] = symbol(i);
    return d;
}

static const struct rng_site site = {.seed = 3, .purpose = RNG_TEST};

static uint32_t of_eight(size_t i)
{
    return (uint32_t)rng_below(&site, (uint32_t)i, 8);
}

static uint32_t cycle(size_t i)
{
    static const uint32_t period[] = {0, 1, 0, 2, 3, 1, 1};
    return period[i % 7];
}

/* Each symbol is the last one or the next: ln 2 in truth, which two symbols show and one does not. */
static uint32_t walk[20000];
static uint32_t walking(size_t i)
{
    walk[i] = i == 0 ? 0 : (walk[i - 1] + (uint32_t)rng_below(&site, (uint32_t)i, 2)) % 5;
    return walk[i];
}

static struct ngram_losses measure(size_t n, uint32_t (*symbol)(size_t i), size_t V)
{
    struct dataset d = make(n, symbol);
    struct ngram_losses l;
    struct error err;
    cr_assert_eq(ngram_measure(&l, &d, V, &err), STATUS_OK, "%s", err.message);
    free(d.ids);
    return l;
}

Test(ngram, probabilities_of_every_order_sum_to_one_after_any_context)
{
    const size_t V = 9; /* one symbol more than the text has */
    struct dataset d = make(300, of_eight);
    struct ngram m;
    struct error err;
    cr_assert_eq(ngram_create(&m, V, &err), STATUS_OK);
    cr_assert_eq(ngram_count(&m, &d, 0, 300, &err), STATUS_OK);
    const uint32_t *ids = d.ids;
    const uint32_t never[] = {8, 8, 8, 8}, half[] = {8, 1, 8, 2};
    for (size_t n = 1; n <= NGRAM_ORDERS; n++)
        for (size_t c = 0; c < 22; c++) {
            const uint32_t *context = c < 20 ? ids + 14 * c : c == 20 ? never : half;
            double sum = 0;
            for (uint32_t s = 0; s < V; s++) {
                const double p = ngram_probability(&m, context, n, s);
                cr_assert(p > 0 && p < 1);
                sum += p;
            }
            cr_assert_float_eq(sum, 1, 1e-12, "order %zu, context %zu: %.17g", n, c, sum);
        }
    ngram_free(&m);
    free(d.ids);
}

Test(ngram, a_small_text_gives_what_the_formula_gives_by_hand)
{
    uint32_t ids[] = {0, 1, 0, 1, 0, 2}; /* "ababac" of V = 4 */
    const struct dataset d = {.ids = ids, .width = 4, .count = 6, .train = 6};
    struct ngram m;
    struct error err;
    cr_assert_eq(ngram_create(&m, 4, &err), STATUS_OK);
    cr_assert_eq(ngram_count(&m, &d, 0, 6, &err), STATUS_OK);
    const double b = (2 + 3 * 0.25) / (6 + 3), c = (1 + 3 * 0.25) / (6 + 3), none = 3 * 0.25 / (6 + 3);
    cr_assert_float_eq(ngram_probability(&m, NULL, 1, 1), b, 1e-15);
    cr_assert_float_eq(ngram_probability(&m, NULL, 1, 3), none, 1e-15);
    const uint32_t a[] = {0}, ba[] = {1, 0}, ca[] = {2, 0};
    /* a: followed by b twice, by c once */
    cr_assert_float_eq(ngram_probability(&m, a, 2, 1), (2 + 2 * b) / (3 + 2), 1e-15);
    cr_assert_float_eq(ngram_probability(&m, a, 2, 3), 2 * none / (3 + 2), 1e-15);
    /* ba: by b and by c once each; ca was never seen */
    const double after_a = (1 + 2 * c) / (3 + 2);
    cr_assert_float_eq(ngram_probability(&m, ba, 3, 2), (1 + 2 * after_a) / (2 + 2), 1e-15);
    cr_assert_float_eq(ngram_probability(&m, ca, 3, 2), after_a, 1e-15);
    ngram_free(&m);
}

Test(ngram, losses_are_those_of_the_probabilities_read_in_order)
{
    struct dataset d = make(400, of_eight);
    struct ngram_losses l;
    struct ngram m;
    struct error err;
    cr_assert_eq(ngram_measure(&l, &d, 8, &err), STATUS_OK);
    cr_assert_eq(ngram_create(&m, 8, &err), STATUS_OK);
    cr_assert_eq(ngram_count(&m, &d, 0, d.train, &err), STATUS_OK);
    const uint32_t *ids = d.ids;
    for (size_t n = 1; n <= NGRAM_ORDERS; n++) {
        double sum = 0;
        for (size_t i = d.train + 1; i < d.count; i++) {
            /* at the start of the part only what it has itself stands before a target */
            const size_t order = i - d.train + 1 < n ? i - d.train + 1 : n;
            sum -= log(ngram_probability(&m, ids + i - (order - 1), order, ids[i]));
        }
        cr_assert_float_eq(l.loss[n - 1], sum / 39, 1e-12, "order %zu", n);
    }
    cr_assert_eq(l.read, 39);
    ngram_free(&m);
    free(d.ids);
}

Test(ngram, random_symbols_cost_ln_V_and_longer_contexts_only_add)
{
    const struct ngram_losses l = measure(20000, of_eight, 8);
    cr_assert_float_eq(l.loss[0], log(8), 4 * l.error[0] + 1e-3, "%g", l.loss[0]);
    cr_assert_float_eq(l.loss[1], log(8), 4 * l.error[1] + 5e-3, "%g", l.loss[1]);
    cr_assert_gt(l.loss[4], l.loss[0] + 0.1, "8^4 contexts of 18,000 symbols mislead");
}

Test(ngram, a_cycle_costs_nothing_once_the_context_tells_where_it_is)
{
    const struct ngram_losses l = measure(7000, cycle, 4);
    cr_assert_gt(l.loss[0], 1.0);
    cr_assert_lt(l.loss[4], 0.01, "%g", l.loss[4]);
    cr_assert_lt(l.loss[2], l.loss[1]);
}

Test(ngram, a_chain_of_order_two_costs_its_entropy_from_order_two_on)
{
    const struct ngram_losses l = measure(20000, walking, 5);
    cr_assert_float_eq(l.loss[0], log(5), 0.01, "%g", l.loss[0]);
    cr_assert_float_eq(l.loss[1], log(2), 0.01, "%g", l.loss[1]);
    cr_assert(l.loss[0] - l.loss[1] > 20 * l.gain_error[1] && l.gain_error[1] > 0);
}

Test(ngram, one_symbol_costs_nothing_and_no_validation_part_has_no_loss)
{
    uint32_t ids[20] = {0};
    struct dataset d = {.ids = ids, .width = 4, .count = 20, .train = 18};
    struct ngram_losses l;
    struct error err;
    cr_assert_eq(ngram_measure(&l, &d, 1, &err), STATUS_OK);
    cr_assert_eq(l.loss[0], 0);
    cr_assert_eq(l.loss[4], 0);
    d.train = 20;
    cr_assert_eq(ngram_measure(&l, &d, 1, &err), STATUS_OK);
    cr_assert(isnan(l.loss[0]) && l.read == 0 && l.counted == 20);
}

Test(ngram, a_text_too_long_to_count_is_counted_in_stretches_all_over_it)
{
    const size_t n = 3 * NGRAM_MOST;
    uint8_t *ids = malloc(n);
    cr_assert_not_null(ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint8_t)(i * 16 / (n / 2)); /* sixteen long runs, then the validation part goes on */
    struct dataset d = {.ids = ids, .width = 1, .count = n, .train = n / 2};
    for (size_t i = n / 2; i < n; i++)
        ids[i] = (uint8_t)(i % 16);
    struct ngram_losses l;
    struct error err;
    cr_assert_eq(ngram_measure(&l, &d, 16, &err), STATUS_OK);
    cr_assert(l.counted == NGRAM_MOST && l.train == n / 2 && l.val == n - n / 2);
    cr_assert_eq(l.read, NGRAM_MOST - 16, "each stretch has a first symbol");
    cr_assert_float_eq(l.loss[0], log(16), 0.01, "every run was counted alike: %g", l.loss[0]);
    free(ids);
}
