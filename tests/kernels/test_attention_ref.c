#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/attention_ref.h"
#include "kernels/gemm.h"
#include "support/attention_case.h"
#include "support/division.h"

TestSuite(attention_ref, .init = gemm_setup);

/* Of results that are sums of at most some dozen terms; gradients are compared with the oracle's own. */
#define LIMIT (16 * (double)REAL_EPSILON)

struct call {
    struct attention_case *c;
    real *scratch;
};

static void forward(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct attention_case *c = call->c;
    attention_ref_forward(lane, c->y, &c->rows, c->weights, c->q, c->k, c->v, &c->shape, &c->drop, call->scratch);
}

static void backward(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct attention_case *c = call->c;
    attention_ref_backward(lane, c->dq, c->dk, c->dv, c->dy, c->weights, c->q, c->k, c->v, &c->shape, &c->drop,
                           call->scratch);
}

/* Forward and backward; the scratch is exactly what is asked for, and what it holds before does not matter. */
static void run(struct attention_case *c, const struct division *d)
{
    struct pool pool = {0};
    struct call call = {c, pool_real(&pool, (size_t)d->lanes * attention_ref_scratch(&c->shape))};
    division_run(d, forward, &call);
    division_run(d, backward, &call);
    pool_free(&pool);
}

static bool right(const struct attention_errors *e, double limit)
{
    return e->y <= limit && e->weights <= limit && e->lse <= limit && e->entropy <= limit && e->max_score <= limit &&
           e->dq <= limit && e->dk <= limit && e->dv <= limit && e->row_sum <= 1e-6 && e->hidden_are_zero &&
           e->gaps_untouched;
}

static void expect_right(const struct attention_errors *e, double limit, const struct attention_shape *s,
                         const char *what)
{
    cr_assert(right(e, limit),
              "%s, B %zu, H %zu over %zu, hs %zu, T %zu of %zu, in epsilons: y %.3g weights %.3g lse %.3g entropy %.3g "
              "max %.3g dq %.3g dk %.3g dv %.3g, row sum off by %.3g, hidden zero %d, gaps untouched %d",
              what, s->B, s->H, s->H_kv, s->hs, s->T_q, s->T_k, e->y / (double)REAL_EPSILON,
              e->weights / (double)REAL_EPSILON, e->lse / (double)REAL_EPSILON, e->entropy / (double)REAL_EPSILON,
              e->max_score / (double)REAL_EPSILON, e->dq / (double)REAL_EPSILON, e->dk / (double)REAL_EPSILON,
              e->dv / (double)REAL_EPSILON, e->row_sum, e->hidden_are_zero, e->gaps_untouched);
}

static void check(const struct attention_sizes *sizes, enum attention_layout layout, double scores, bool exact,
                  double p, const struct division *d, const char *what)
{
    struct attention_case c;
    attention_case_init(&c, sizes, layout, scores, exact, p);
    run(&c, d);
    const struct attention_errors e = attention_case_errors(&c, ATTENTION_CASE_RIGHT);
    expect_right(&e, LIMIT, &c.shape, what);
    attention_case_free(&c);
}

Test(attention_ref, matches_the_oracle_at_ragged_lengths_in_every_layout)
{
    static const size_t widths[] = {1, 5, 16};
    for (size_t t = 0; t < ORACLE_SIZES; t++)
        for (size_t w = 0; w < 3; w++) {
            const size_t T = oracle_sizes[t];
            const struct attention_sizes sizes = {2, 4, 4, widths[w], T, T};
            check(&sizes, ATTENTION_DENSE, 1, false, 0, &divisions[0], "dense");
            check(&sizes, ATTENTION_PACKED, 1, false, 0, &divisions[0], "packed");
            check(&sizes, ATTENTION_CACHE, 1, false, 0, &divisions[0], "cache");
        }
}

Test(attention_ref, matches_the_oracle_with_fewer_queries_than_keys)
{
    static const size_t lengths[][2] = {{1, 1}, {1, 2}, {1, 37}, {2, 17}, {15, 16}, {16, 17}, {17, 37}, {16, 37}};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const struct attention_sizes sizes = {2, 2, 2, 5, lengths[k][0], lengths[k][1]};
        check(&sizes, ATTENTION_DENSE, 1, false, 0, &divisions[0], "dense");
        check(&sizes, ATTENTION_CACHE, 1, false, 0.3, &divisions[1], "cache with dropout");
    }
}

Test(attention_ref, matches_the_oracle_with_heads_that_share_keys)
{
    static const size_t heads[][2] = {{2, 1}, {4, 2}, {6, 3}, {6, 2}, {8, 1}};
    for (size_t k = 0; k < 5; k++) {
        const struct attention_sizes sizes = {2, heads[k][0], heads[k][1], 3, 17, 17};
        check(&sizes, ATTENTION_PACKED, 1, false, 0, &divisions[0], "packed");
        check(&sizes, ATTENTION_CACHE, 1, false, 0.3, &divisions[2], "cache with dropout");
    }
}

Test(attention_ref, matches_the_oracle_under_every_division)
{
    const struct attention_sizes sizes = {2, 6, 3, 5, 17, 17};
    for (size_t d = 0; d < DIVISIONS; d++) /* up to 64 lanes for 12 heads and 6 groups */
        for (int drop = 0; drop < 2; drop++)
            check(&sizes, ATTENTION_PACKED, 1, false, drop ? 0.4 : 0, &divisions[d], "division");
}

Test(attention_ref, matches_the_oracle_at_scores_of_a_hundred_and_ten_thousand)
{
    static const double scores[] = {100, 1e4};
    for (size_t k = 0; k < 2; k++)
        for (size_t t = 0; t < ORACLE_SIZES; t++) {
            const struct attention_sizes sizes = {2, 2, 2, 7, oracle_sizes[t], oracle_sizes[t]};
            check(&sizes, ATTENTION_DENSE, scores[k], true, 0, &divisions[0], "large scores");
            check(&sizes, ATTENTION_PACKED, scores[k], true, 0.3, &divisions[0], "large scores with dropout");
        }
}

Test(attention_ref, harness_catches_planted_faults)
{
    const struct attention_sizes sizes = {2, 4, 2, 5, 11, 17};
    struct attention_case c;
    attention_case_init(&c, &sizes, ATTENTION_CACHE, 1, false, 0.3);
    run(&c, &divisions[0]);
    for (int fault = ATTENTION_CASE_RIGHT + 1; fault < ATTENTION_CASE_FAULTS; fault++) {
        const struct attention_errors e = attention_case_errors(&c, (enum attention_case_fault)fault);
        cr_assert(!right(&e, LIMIT), "fault %d passes unseen", fault);
        /* faults of the weights show in every result, not just in one */
        if (fault == ATTENTION_SEES_ONE_AHEAD || fault == ATTENTION_SCALE_MISSING ||
            fault == ATTENTION_HEADS_INTERLEAVED || fault == ATTENTION_ALIGNED_TO_THE_START)
            cr_assert(e.y > LIMIT && e.weights > LIMIT && e.lse > LIMIT && e.entropy > LIMIT && e.dq > LIMIT &&
                          e.dk > LIMIT && e.dv > LIMIT,
                      "fault %d passes unseen in one result", fault);
    }
    const struct attention_errors behind = attention_case_errors(&c, ATTENTION_MISSES_ITSELF);
    cr_assert(!behind.hidden_are_zero);
    c.y[c.shape.y_stride - 1] = 1;
    const struct attention_errors written = attention_case_errors(&c, ATTENTION_CASE_RIGHT);
    cr_assert(!written.gaps_untouched);
    attention_case_free(&c);
}

Test(attention_ref, oracle_s_gradients_are_the_slopes_of_its_value)
{
    static const struct attention_sizes sizes[] = {{2, 4, 2, 3, 5, 7}, {1, 2, 1, 2, 4, 4}, {1, 1, 1, 1, 1, 1}};
    for (size_t k = 0; k < 3; k++)
        for (int drop = 0; drop < 2; drop++) {
            struct attention_case c;
            attention_case_init(&c, &sizes[k], ATTENTION_DENSE, 1, false, drop ? 0.3 : 0);
            const double error = attention_oracle_slope_error(&c, ATTENTION_CASE_RIGHT);
            cr_assert(error <= 1e-8, "sizes %zu, dropout %d: %.3g", k, drop, error);
            if (k == 0)
                cr_assert(attention_oracle_slope_error(&c, ATTENTION_MEAN_SIGN) > 1e-3);
            if (k == 0 && drop)
                cr_assert(attention_oracle_slope_error(&c, ATTENTION_GRADIENT_KEEPS_DROPPED) > 1e-3);
            attention_case_free(&c);
        }
}

Test(attention_ref, entropy_keeps_its_digits_at_scores_of_ten_thousand)
{
    /* q = (1, 100) and k_j = (r_j, 100) with r_j in sixteenths give scores 10000 + r_j without rounding. */
    static const double levels[] = {100, -100};
    for (size_t level = 0; level < 2; level++) {
        const struct attention_sizes sizes = {1, 2, 2, 2, 37, 37};
        struct attention_case c;
        attention_case_init(&c, &sizes, ATTENTION_DENSE, 1, false, 0);
        c.shape.scale = 1;
        for (size_t i = 0; i < c.q_block; i += 2) {
            c.q[i] = 1;
            c.q[i + 1] = 100;
            c.k[i] = (real)(round((double)c.k[i] * 16) / 16);
            c.k[i + 1] = (real)levels[level];
        }
        run(&c, &divisions[0]);
        const struct attention_errors e = attention_case_errors(&c, ATTENTION_CASE_RIGHT);
        expect_right(&e, LIMIT, &c.shape, "scores near 10000");
        /* what the shorter form makes of the same row */
        const size_t row = 36;
        real mean = 0;
        for (size_t j = 0; j < 37; j++)
            mean += c.weights[row * 37 + j] * (c.k[j * 4] + 100 * c.k[j * 4 + 1]);
        const double shorter = fabs((double)(c.rows.lse[row] - mean) - (double)c.rows.entropy[row]);
        cr_assert(shorter > 100 * LIMIT, "lse - E[s] would do: off by %.3g only", shorter);
        attention_case_free(&c);
    }
}

Test(attention_ref, entropy_lies_between_zero_and_the_log_of_the_visible_keys)
{
    static const double scores[] = {0, 1e-3, 1, 30, 1000, 1e6};
    for (size_t k = 0; k < 6; k++) {
        const struct attention_sizes sizes = {2, 2, 2, 5, 37, 37};
        struct attention_case c;
        attention_case_init(&c, &sizes, ATTENTION_DENSE, scores[k], false, 0);
        run(&c, &divisions[0]);
        for (size_t row = 0; row < 2 * 2 * 37; row++) {
            const size_t visible = row / 37 % 2 ? 37 : row % 37 + 1;
            const real h = c.rows.entropy[row];
            cr_assert(h >= 0 && h <= (real)log((double)visible), "scores %g, row %zu: %g of %zu keys", scores[k], row,
                      (double)h, visible);
            cr_assert(k > 0 || fabs((double)h - log((double)visible)) <= 4 * LIMIT); /* equal scores: the most */
        }
        attention_case_free(&c);
    }
}

Test(attention_ref, a_single_visible_key_has_weight_one_and_gives_its_value)
{
    static const double scores[] = {0, 1, 1e4};
    for (size_t k = 0; k < 3; k++)
        for (size_t T = 1; T <= 17; T += 16) {
            const struct attention_sizes sizes = {2, 1, 1, 5, T, T};
            struct attention_case c;
            attention_case_init(&c, &sizes, ATTENTION_DENSE, scores[k], false, 0);
            run(&c, &divisions[0]);
            for (size_t b = 0; b < 2; b++) {
                cr_assert(c.weights[b * T * T] == 1 && c.rows.entropy[b * T] == 0);
                cr_assert(c.rows.lse[b * T] == c.rows.max_score[b * T]);
                for (size_t i = 0; i < 5; i++) {
                    cr_assert(c.y[b * T * 5 + i] == c.v[b * T * 5 + i]);
                    cr_assert(c.dq[b * T * 5 + i] == 0, "nothing to choose from, no gradient");
                }
            }
            attention_case_free(&c);
        }
}

/* Whether the results of all rows before `at` in causal heads, and of all rows of heads that read other keys than
 * head 0, are bit for bit those of another run. */
static bool earlier_rows_equal(const struct attention_case *a, const struct attention_case *b, size_t at)
{
    const struct attention_shape *s = &a->shape;
    for (size_t bh = 0; bh < s->B * s->H; bh++)
        for (size_t i = 0; i < s->T_q; i++) {
            const size_t batch = bh / s->H, h = bh % s->H, row = bh * s->T_q + i;
            const bool reads = batch == 0 && h < s->H / s->H_kv; /* key head 0 of batch row 0 is spoiled */
            if (reads && (s->rules[h] == ATTENTION_FULL || i + s->T_k - s->T_q >= at))
                continue;
            const size_t y = batch * s->y_batch + i * s->y_stride + h * s->hs;
            const size_t q = batch * s->q_batch + i * s->q_stride + h * s->hs, bytes = s->hs * sizeof(real);
            if (memcmp(a->y + y, b->y + y, bytes) != 0 || memcmp(a->dq + q, b->dq + q, bytes) != 0 ||
                memcmp(a->weights + row * s->T_k, b->weights + row * s->T_k, s->T_k * sizeof(real)) != 0 ||
                memcmp(&a->rows.lse[row], &b->rows.lse[row], sizeof(real)) != 0 ||
                memcmp(&a->rows.entropy[row], &b->rows.entropy[row], sizeof(real)) != 0 ||
                memcmp(&a->rows.max_score[row], &b->rows.max_score[row], sizeof(real)) != 0)
                return false;
        }
    return true;
}

Test(attention_ref, nan_and_infinity_at_a_key_reach_no_row_that_does_not_see_it)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const size_t queries[] = {37, 21};
    for (size_t t = 0; t < 2; t++)
        for (int drop = 0; drop < 2; drop++) {
            const size_t T_q = queries[t], T_k = 37;
            const struct attention_sizes sizes = {2, 4, 2, 5, T_q, T_k};
            struct attention_case clean, spoiled;
            attention_case_init(&clean, &sizes, ATTENTION_CACHE, 1, false, drop ? 0.3 : 0);
            attention_case_init(&spoiled, &sizes, ATTENTION_CACHE, 1, false, drop ? 0.3 : 0);
            run(&clean, &divisions[0]);
            cr_assert(earlier_rows_equal(&clean, &clean, 0), "a run equals itself");
            for (size_t at = 1; at < T_k; at++)
                for (size_t kind = 0; kind < 3; kind++) {
                    real *k = spoiled.k + at * spoiled.shape.k_stride, *v = spoiled.v + at * spoiled.shape.v_stride;
                    const real kept_k = k[at % 5], kept_v = v[at % 5];
                    k[at % 5] = v[at % 5] = (real)bad[kind];
                    attention_case_clear(&spoiled);
                    run(&spoiled, &divisions[0]);
                    k[at % 5] = kept_k;
                    v[at % 5] = kept_v;
                    cr_assert(earlier_rows_equal(&clean, &spoiled, at), "%g at key %zu, T %zu of %zu", bad[kind], at,
                              T_q, T_k);
                    const size_t first = at + T_q >= T_k ? at + T_q - T_k : 0; /* the first row that sees it */
                    cr_assert(!earlier_rows_equal(&clean, &spoiled, at + 1) || at + T_q < T_k,
                              "%g at key %zu: the row that sees it shows nothing", bad[kind], at);
                    cr_assert(kind > 0 || isnan(spoiled.rows.lse[first]));
                }
            attention_case_free(&clean);
            attention_case_free(&spoiled);
        }
}

Test(attention_ref, nan_in_a_later_query_or_its_gradient_reaches_no_earlier_row)
{
    const struct attention_sizes sizes = {1, 2, 1, 5, 37, 37};
    struct attention_case clean, spoiled;
    attention_case_init(&clean, &sizes, ATTENTION_PACKED, 1, false, 0);
    attention_case_init(&spoiled, &sizes, ATTENTION_PACKED, 1, false, 0);
    clean.rules[1] = spoiled.rules[1] = ATTENTION_CAUSAL;
    run(&clean, &divisions[0]);
    for (size_t at = 1; at < 37; at++) {
        real *q = spoiled.q + at * spoiled.shape.q_stride + at % 10, *dy = spoiled.dy + at * spoiled.shape.y_stride;
        const real kept_q = *q, kept_dy = dy[at % 10];
        *q = dy[at % 10] = (real)NAN;
        attention_case_clear(&spoiled);
        run(&spoiled, &divisions[0]);
        *q = kept_q;
        dy[at % 10] = kept_dy;
        cr_assert(earlier_rows_equal(&clean, &spoiled, at), "NaN at query %zu", at);
        cr_assert(!earlier_rows_equal(&clean, &spoiled, at + 1));
    }
    attention_case_free(&clean);
    attention_case_free(&spoiled);
}

Test(attention_ref, changing_a_later_key_moves_no_bit_of_an_earlier_row)
{
    /* scores far below any finite mask: what would beat -1e4 or -1e9 must still not be seen */
    const struct attention_sizes sizes = {2, 4, 2, 5, 37, 37};
    struct attention_case clean, moved;
    attention_case_init(&clean, &sizes, ATTENTION_PACKED, 1e6, false, 0);
    attention_case_init(&moved, &sizes, ATTENTION_PACKED, 1e6, false, 0);
    run(&clean, &divisions[0]);
    const struct attention_errors e = attention_case_errors(&clean, ATTENTION_CASE_RIGHT);
    cr_assert(e.hidden_are_zero && e.row_sum <= 1e-6);
    for (size_t at = 1; at < 37; at += 5) {
        real *k = moved.k + at * moved.shape.k_stride, *v = moved.v + at * moved.shape.v_stride;
        const real kept_k = *k, kept_v = *v;
        *k += 3;
        *v += 3;
        attention_case_clear(&moved);
        run(&moved, &divisions[0]);
        *k = kept_k;
        *v = kept_v;
        cr_assert(earlier_rows_equal(&clean, &moved, at), "key %zu", at);
    }
    attention_case_free(&clean);
    attention_case_free(&moved);
}

Test(attention_ref, one_query_over_a_cache_is_the_last_row_of_the_whole_text)
{
    const struct attention_sizes all = {1, 4, 2, 5, 37, 37};
    struct attention_case whole, last;
    attention_case_init(&whole, &all, ATTENTION_PACKED, 1, false, 0);
    run(&whole, &divisions[0]);
    for (size_t T = 1; T <= 37; T++) {
        /* the same memory, seen as a cache of T positions and one query */
        const size_t at = T - 1;
        last = whole;
        last.pool = (struct pool){0};
        last.layout = ATTENTION_DENSE;
        last.shape.T_q = 1;
        last.shape.T_k = T;
        last.k_block = T * last.shape.k_stride;
        last.q_block = last.shape.q_stride;
        last.q = whole.q + at * whole.shape.q_stride;
        for (size_t h = 0; h < 4; h++)
            last.rules[h] = ATTENTION_CAUSAL;
        last.shape.rules = last.rules;
        attention_case_clear(&last);
        struct call call = {&last, pool_real(&last.pool, attention_ref_scratch(&last.shape))};
        forward(&lane_alone, &call);
        for (size_t h = 0; h < 4; h += 2) { /* the causal heads of the whole text */
            const real *y = last.y + h * 5, *want = whole.y + at * whole.shape.y_stride + h * 5;
            for (size_t i = 0; i < 5; i++)
                cr_assert(fabs((double)(y[i] - want[i])) <= LIMIT * 4, "position %zu, head %zu", at, h);
            cr_assert(fabs((double)(last.rows.entropy[h] - whole.rows.entropy[h * 37 + at])) <= LIMIT * 4);
        }
        attention_case_free(&last);
    }
    attention_case_free(&whole);
}

Test(attention_ref, dropout_leaves_the_row_statistics_and_weights_alone)
{
    const struct attention_sizes sizes = {2, 4, 2, 5, 17, 17};
    struct attention_case with, without;
    attention_case_init(&with, &sizes, ATTENTION_DENSE, 1, false, 0.5);
    attention_case_init(&without, &sizes, ATTENTION_DENSE, 1, false, 0);
    run(&with, &divisions[0]);
    run(&without, &divisions[0]);
    const size_t rows = 2 * 4 * 17 * sizeof(real);
    cr_assert(memcmp(with.rows.lse, without.rows.lse, rows) == 0);
    cr_assert(memcmp(with.rows.entropy, without.rows.entropy, rows) == 0);
    cr_assert(memcmp(with.rows.max_score, without.rows.max_score, rows) == 0);
    cr_assert(memcmp(with.weights, without.weights, rows * 17) == 0);
    cr_assert(memcmp(with.y, without.y, with.y_block * sizeof(real)) != 0);
    attention_case_free(&with);
    attention_case_free(&without);
}

Test(attention_ref, dropout_preserves_the_mean)
{
    enum { DRAWS = 3000, NUMBERS = 2 * 2 * 3 * 2 };
    const struct attention_sizes sizes = {2, 2, 2, 2, 3, 3};
    const double p = 0.4;
    struct attention_case c, without;
    attention_case_init(&c, &sizes, ATTENTION_DENSE, 1, false, p);
    attention_case_init(&without, &sizes, ATTENTION_DENSE, 1, false, 0);
    run(&without, &divisions[0]);
    struct call call = {&c, pool_real(&c.pool, attention_ref_scratch(&c.shape))};
    double sum[NUMBERS] = {0}, square[NUMBERS] = {0};
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        c.drop.site.step = draw;
        forward(&lane_alone, &call);
        for (size_t i = 0; i < NUMBERS; i++) {
            sum[i] += (double)c.y[i];
            square[i] += (double)c.y[i] * (double)c.y[i];
        }
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        const double mean = sum[i] / DRAWS, error = sqrt((square[i] / DRAWS - mean * mean) / DRAWS);
        const double want = (double)without.y[i];
        cr_assert(error > 0 && fabs(mean - want) <= 5 * error, "number %zu: %g +- %g, not %g", i, mean, error, want);
    }
    attention_case_free(&c);
    attention_case_free(&without);
}
