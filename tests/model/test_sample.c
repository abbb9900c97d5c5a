#include "model/sample.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"

#define V_MAX 300

static double scratch_weight[V_MAX];
static uint32_t scratch_order[V_MAX];

static uint32_t choose(const real *logits, size_t V, const struct sample_options *o, uint32_t sample, uint32_t position)
{
    struct sample_scratch scratch = {scratch_weight, scratch_order};
    struct error err = {{0}};
    uint32_t id = UINT32_MAX;
    cr_assert_eq(sample_choose(&id, logits, V, o, sample, position, &scratch, &err), STATUS_OK, "%s", err.message);
    cr_assert_lt(id, V);
    return id;
}

/* How often each symbol is chosen in n draws. */
static void tally(size_t *count, const real *logits, size_t V, const struct sample_options *o, uint32_t n)
{
    memset(count, 0, V * sizeof *count);
    for (uint32_t i = 0; i < n; i++)
        count[choose(logits, V, o, 0, i)]++;
}

static void logs(real *logits, const double *p, size_t V)
{
    for (size_t i = 0; i < V; i++)
        logits[i] = (real)log(p[i]);
}

Test(sample, temperature_zero_takes_the_largest_logit_and_the_lowest_id_of_a_tie)
{
    struct sample_options o = sample_defaults();
    o.temperature = 0;
    const real peak[] = {-3, 2, 5, 1};
    const real tie[] = {-1, 7, 0, 7, 7};
    for (uint32_t i = 0; i < 50; i++) {
        cr_assert_eq(choose(peak, 4, &o, i, i), 2);
        cr_assert_eq(choose(tie, 5, &o, i, i), 1);
    }
}

Test(sample, a_tiny_temperature_is_argmax_whatever_the_logits)
{
    const double tiny[] = {5e-324, 1e-300, 1e-40, 1e-12, 1e-10};
    const real sets[][5] = {{-3, 2, 5, 1, 4}, {9, 9, 9, 9, 9}, {-1e30f, 1e30f, -1e30f, 1e30f, 0}, {0, 1e-6f, 0, 0, 0}};
    for (size_t s = 0; s < 4; s++) {
        struct sample_options o = sample_defaults();
        o.temperature = 0;
        const uint32_t best = choose(sets[s], 5, &o, 0, 0);
        for (size_t t = 0; t < 5; t++) {
            o.temperature = tiny[t];
            for (uint32_t i = 0; i < 20; i++)
                cr_assert_eq(choose(sets[s], 5, &o, 0, i), best, "set %zu, temperature %g", s, tiny[t]);
        }
    }
}

Test(sample, frequencies_follow_the_softmax_at_the_temperature)
{
    const real logits[] = {1, 0, -1, 0.5f, 2, -3, 1};
    const uint32_t n = 60000;
    const double temperatures[] = {0.5, 1, 3};
    for (size_t t = 0; t < 3; t++) {
        struct sample_options o = sample_defaults();
        o.temperature = temperatures[t];
        o.seed = 11 + t;
        double p[7], total = 0;
        for (size_t i = 0; i < 7; i++)
            total += p[i] = exp((double)logits[i] / temperatures[t]);
        size_t count[7];
        tally(count, logits, 7, &o, n);
        for (size_t i = 0; i < 7; i++) {
            const double expected = p[i] / total, error = sqrt(expected * (1 - expected) / n);
            cr_assert_float_eq((double)count[i] / n, expected, 5 * error, "symbol %zu at temperature %g", i,
                               temperatures[t]);
        }
    }
}

Test(sample, a_huge_temperature_is_uniform_and_finite)
{
    const real logits[] = {-1e30f, 0, 1e30f, 3};
    struct sample_options o = sample_defaults();
    o.temperature = DBL_MAX;
    size_t count[4];
    tally(count, logits, 4, &o, 8000);
    for (size_t i = 0; i < 4; i++)
        cr_assert_float_eq((double)count[i] / 8000, 0.25, 0.03);
}

Test(sample, top_k_keeps_k_symbols_and_zero_or_more_than_V_keeps_all)
{
    const real logits[] = {0.1f, 0.4f, 0.3f, 0.2f, 0.4f};
    const int kept_by_k[][5] = {{1, 1, 1, 1, 1}, {0, 1, 0, 0, 0}, {0, 1, 0, 0, 1}, {0, 1, 1, 0, 1},
                                {0, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    const size_t ks[] = {0, 1, 2, 3, 4, 5, 6, 1000000000};
    for (size_t c = 0; c < 8; c++) {
        struct sample_options o = sample_defaults();
        o.top_k = ks[c];
        size_t count[5];
        tally(count, logits, 5, &o, 2000);
        for (size_t i = 0; i < 5; i++)
            cr_assert_eq(count[i] > 0, kept_by_k[c][i], "k = %zu, symbol %zu", ks[c], i);
    }
}

Test(sample, top_p_keeps_the_symbol_that_crosses_and_always_the_best)
{
    real logits[3];
    logs(logits, (const double[]){0.5, 0.41, 0.09}, 3);
    const double ps[] = {0, 1e-8, 0.49, 0.6, 0.9, 0.92, 1};
    const size_t kept[] = {1, 1, 1, 2, 2, 3, 3};
    for (size_t c = 0; c < 7; c++) {
        struct sample_options o = sample_defaults();
        o.top_p = ps[c];
        size_t count[3];
        tally(count, logits, 3, &o, 3000);
        for (size_t i = 0; i < 3; i++)
            cr_assert_eq(count[i] > 0, i < kept[c], "p = %g, symbol %zu", ps[c], i);
    }
}

Test(sample, min_p_is_relative_to_the_best_symbol)
{
    real logits[4];
    logs(logits, (const double[]){0.1, 0.5, 0.3, 0.1}, 4);
    const double ps[] = {0, 0.1, 0.3, 0.7, 1};
    const int kept[][4] = {{1, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 1, 0}, {0, 1, 0, 0}, {0, 1, 0, 0}};
    for (size_t c = 0; c < 5; c++) {
        struct sample_options o = sample_defaults();
        o.min_p = ps[c];
        size_t count[4];
        tally(count, logits, 4, &o, 3000);
        for (size_t i = 0; i < 4; i++)
            cr_assert_eq(count[i] > 0, kept[c][i], "min-p = %g, symbol %zu", ps[c], i);
    }
}

Test(sample, filters_apply_in_the_stated_order)
{
    /* After top-k 2 the shares are .6 .4, so top-p .6 leaves one; the other order would leave two. */
    real logits[4];
    logs(logits, (const double[]){0.36, 0.24, 0.2, 0.2}, 4);
    struct sample_options o = sample_defaults();
    o.top_k = 2;
    o.top_p = 0.59;
    size_t count[4];
    tally(count, logits, 4, &o, 1000);
    cr_assert_eq(count[0], 1000);
    o.top_k = 0;
    tally(count, logits, 4, &o, 1000);
    cr_assert_gt(count[1], 0);
    cr_assert_eq(count[2] + count[3], 0);
    /* min-p comes last: it cuts what top-p left, and does not shrink the mass that top-p counts. */
    o.top_p = 0.7;
    tally(count, logits, 4, &o, 1000);
    cr_assert(count[2] > 0 && count[3] == 0);
    o.min_p = 0.6;
    tally(count, logits, 4, &o, 1000);
    cr_assert(count[1] > 0 && count[2] == 0);
}

/* The same choice in the plainest way: sort everything, cut, walk. */
static void survivors_by_sorting(int *kept, const real *logits, size_t V, const struct sample_options *o)
{
    size_t rank[V_MAX];
    double w[V_MAX];
    for (size_t i = 0; i < V; i++)
        rank[i] = i;
    for (size_t i = 1; i < V; i++)
        for (size_t j = i; j > 0 && logits[rank[j]] > logits[rank[j - 1]]; j--) {
            const size_t t = rank[j];
            rank[j] = rank[j - 1];
            rank[j - 1] = t;
        }
    size_t n = o->top_k && o->top_k < V ? o->top_k : V;
    double total = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        total += w[i] = exp((double)(logits[rank[i]] - logits[rank[0]]) / o->temperature);
    if (o->top_p < 1)
        for (size_t i = 0; i < n; i++)
            if ((sum += w[i]) >= o->top_p * total)
                n = i + 1;
    while (n > 1 && w[n - 1] < o->min_p)
        n--;
    memset(kept, 0, V * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        kept[rank[i]] = 1;
}

Test(sample, never_leaves_the_set_that_plain_sorting_gives_and_reaches_all_of_it)
{
    const struct rng_site site = {.seed = 5, .purpose = RNG_TEST};
    const size_t sizes[] = {1, 2, 3, 17, 65};
    uint32_t draw = 0;
    for (size_t round = 0; round < 60; round++) {
        const size_t V = sizes[round % 5];
        real logits[V_MAX];
        for (size_t i = 0; i < V; i++)
            logits[i] = (real)(rng_below(&site, draw++, 9)) / 4; /* many ties */
        struct sample_options o = {.temperature = 0.5 + rng_uniform(&site, draw) * 2,
                                   .top_k = rng_below(&site, draw + 1, V + 2),
                                   .top_p = 0.2 + rng_uniform(&site, draw + 2) * 0.8,
                                   .min_p = rng_uniform(&site, draw + 3) * 0.5,
                                   .seed = round};
        draw += 4;
        int kept[V_MAX];
        size_t count[V_MAX];
        survivors_by_sorting(kept, logits, V, &o);
        tally(count, logits, V, &o, 4000);
        for (size_t i = 0; i < V; i++)
            cr_assert_eq(count[i] > 0, kept[i], "round %zu, V %zu, symbol %zu", round, V, i);
    }
}

Test(sample, a_draw_depends_on_seed_sample_and_position_alone)
{
    real logits[V_MAX];
    for (size_t i = 0; i < V_MAX; i++)
        logits[i] = (real)(i % 7) / 7;
    struct sample_options o = sample_defaults();
    uint32_t forwards[64];
    for (uint32_t i = 0; i < 64; i++)
        forwards[i] = choose(logits, V_MAX, &o, 3, i);
    size_t other_sample = 0, other_seed = 0;
    for (uint32_t i = 64; i-- > 0;) {
        cr_assert_eq(choose(logits, V_MAX, &o, 3, i), forwards[i]);
        other_sample += choose(logits, V_MAX, &o, 4, i) != forwards[i];
        o.seed = UINT64_MAX;
        other_seed += choose(logits, V_MAX, &o, 3, i) != forwards[i];
        o.seed = 0;
    }
    cr_assert_gt(other_sample, 32);
    cr_assert_gt(other_seed, 32);
}

Test(sample, a_non_finite_logit_is_a_status_with_the_symbol_named)
{
    const real bad[] = {(real)NAN, (real)INFINITY, -(real)INFINITY};
    const double temperatures[] = {0, 1};
    struct sample_scratch scratch = {scratch_weight, scratch_order};
    for (size_t b = 0; b < 3; b++)
        for (size_t t = 0; t < 2; t++) {
            real logits[] = {0, 1, bad[b], 2};
            struct sample_options o = sample_defaults();
            o.temperature = temperatures[t];
            struct error err = {{0}};
            uint32_t id = 77;
            cr_assert_eq(sample_choose(&id, logits, 4, &o, 0, 9, &scratch, &err), STATUS_NONFINITE);
            cr_assert_eq(id, 77);
            cr_assert(strstr(err.message, "symbol 2"), "%s", err.message);
        }
}

Test(sample, check_refuses_what_has_no_meaning)
{
    struct error err;
    const struct sample_options fine = sample_defaults();
    cr_assert_eq(sample_check(&fine, &err), STATUS_OK);
    const double bad_temperature[] = {-1, -1e-300, NAN, INFINITY, -INFINITY};
    const double bad_share[] = {-1e-9, 1.1, 1.0000001, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 5; i++) {
        struct sample_options o = fine;
        o.temperature = bad_temperature[i];
        cr_assert_eq(sample_check(&o, &err), STATUS_RANGE);
        cr_assert(strstr(err.message, "temperature"));
    }
    for (size_t i = 0; i < 6; i++) {
        struct sample_options o = fine;
        o.top_p = bad_share[i];
        cr_assert_eq(sample_check(&o, &err), STATUS_RANGE);
        cr_assert(strstr(err.message, "top-p"));
        o = fine;
        o.min_p = bad_share[i];
        cr_assert_eq(sample_check(&o, &err), STATUS_RANGE);
        cr_assert(strstr(err.message, "min-p"));
    }
}

Test(sample, scratch_is_measured_then_placed)
{
    struct arena a = {0};
    struct sample_scratch s;
    struct error err;
    sample_layout(&s, &a, 65);
    cr_assert_geq(a.used, 65 * (sizeof(double) + sizeof(uint32_t)));
    cr_assert_eq(arena_place(&a, &err), STATUS_OK);
    sample_layout(&s, &a, 65);
    cr_assert(s.weight && s.order);
    real logits[65] = {0};
    logits[64] = 50;
    struct sample_options o = sample_defaults();
    o.top_k = 3;
    uint32_t id = 0;
    cr_assert_eq(sample_choose(&id, logits, 65, &o, 0, 0, &s, &err), STATUS_OK);
    cr_assert_eq(id, 64);
    arena_free(&a);
}

Test(sample, ids_that_are_barred_are_never_drawn_and_the_others_as_if_they_were_not_there)
{
    const real logits[] = {9, 1, 8, 0.5, 2, 9}, left[] = {1, 0.5, 2};
    const bool never[] = {true, false, true, false, false, true};
    const uint32_t ids[] = {1, 3, 4};
    for (size_t kind = 0; kind < 5; kind++) {
        struct sample_options o = sample_defaults();
        o.temperature = kind == 0 ? 0 : 1;
        o.top_k = kind == 2 ? 2 : 0;
        o.top_p = kind == 3 ? 0.6 : 1;
        o.min_p = kind == 4 ? 0.3 : 0;
        for (uint32_t i = 0; i < 500; i++) {
            o.never = NULL;
            const uint32_t want = ids[choose(left, 3, &o, 0, i)];
            o.never = never;
            cr_assert_eq(choose(logits, 6, &o, 0, i), want, "way %zu, draw %lu", kind, (unsigned long)i);
        }
    }
}
