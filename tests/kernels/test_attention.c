#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/attention_ref.h"
#include "kernels/attention_tile.h"
#include "kernels/gemm.h"
#include "support/attention_case.h"
#include "support/division.h"

TestSuite(attention, .init = gemm_setup);

/* Of results that are sums of at most some hundred terms. */
#define LIMIT (16 * (double)REAL_EPSILON)

struct call {
    struct attention_case *c;
    real *scratch;
    bool quiet, reference;
};

static void forward(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct attention_case *c = call->c;
    const struct attention_rows *rows = call->quiet ? NULL : &c->rows;
    if (call->reference)
        attention_ref_forward(lane, c->y, rows, c->weights, c->q, c->k, c->v, &c->shape, &c->drop, call->scratch);
    else
        attention_forward(lane, c->y, rows, &c->kept, c->q, c->k, c->v, &c->shape, &c->drop, call->scratch);
}

static void backward(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct attention_case *c = call->c;
    if (call->reference)
        attention_ref_backward(lane, c->dq, c->dk, c->dv, c->dy, c->weights, c->q, c->k, c->v, &c->shape, &c->drop,
                               call->scratch);
    else
        attention_backward(lane, c->dq, c->dk, c->dv, c->dy, c->y, &c->kept, c->q, c->k, c->v, &c->shape, &c->drop,
                           call->scratch);
}

/* Forward and backward; the scratch is exactly what is asked for, and what it holds before does not matter. */
static void run_as(struct attention_case *c, const struct division *d, bool quiet, bool reference)
{
    struct pool pool = {0};
    const int lanes = d->lanes;
    const size_t size =
        reference ? (size_t)lanes * attention_ref_scratch(&c->shape) : attention_scratch(&c->shape, lanes);
    struct call call = {c, pool_real(&pool, size), quiet, reference};
    division_run(d, forward, &call);
    division_run(d, backward, &call);
    pool_free(&pool);
}

static void run(struct attention_case *c)
{
    run_as(c, &divisions[0], false, false);
}

/* Judged without weights, which the tiled attention does not give. */
static struct attention_errors errors_of(struct attention_case *c)
{
    real *const weights = c->weights;
    c->weights = NULL;
    const struct attention_errors e = attention_case_errors(c, ATTENTION_CASE_RIGHT);
    c->weights = weights;
    return e;
}

static double worst(const struct attention_errors *e)
{
    const double all[] = {e->y, e->lse, e->entropy, e->max_score, e->dq, e->dk, e->dv};
    double most = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        most = all[i] <= most ? most : all[i]; /* NaN too */
    return most;
}

static void expect_right(struct attention_case *c, double limit, const char *what)
{
    const struct attention_errors e = errors_of(c);
    const struct attention_shape *s = &c->shape;
    const double unit = (double)REAL_EPSILON;
    cr_assert(worst(&e) <= limit && e.gaps_untouched,
              "%s, tile %zu, window %zu, B %zu, H %zu over %zu, hs %zu, T %zu of %zu, in epsilons: y %.3g lse %.3g "
              "entropy %.3g max %.3g dq %.3g dk %.3g dv %.3g, gaps untouched %d",
              what, s->tile, s->window, s->B, s->H, s->H_kv, s->hs, s->T_q, s->T_k, e.y / unit, e.lse / unit,
              e.entropy / unit, e.max_score / unit, e.dq / unit, e.dk / unit, e.dv / unit, e.gaps_untouched);
}

/* How a case differs from rules causal, full, causal, full ... and the kernel's own tile. */
struct change {
    size_t tile;
    bool windows; /* heads 1, 3, ... have a window instead */
    size_t window;
    bool bf16;
};

static void make(struct attention_case *c, const struct attention_sizes *sizes, enum attention_layout layout,
                 double scores, bool exact, double p, const struct change *change)
{
    attention_case_init(c, sizes, layout, scores, exact, p);
    c->shape.tile = change->tile;
    c->shape.window = change->window;
    c->shape.bf16 = change->bf16;
    for (size_t h = 1; change->windows && h < sizes->H; h += 2)
        c->rules[h] = ATTENTION_WINDOW;
}

static void check(const struct attention_sizes *sizes, enum attention_layout layout, double p,
                  const struct change *change, const struct division *d, const char *what)
{
    struct attention_case c;
    make(&c, sizes, layout, 1, false, p, change);
    run_as(&c, d, false, false);
    expect_right(&c, LIMIT, what);
    attention_case_free(&c);
}

static const struct change usual = {0};

Test(attention, matches_the_oracle_around_its_own_tiles)
{
    static const size_t lengths[] = {1, 31, 32, 33, 63, 64, 65, 131, ATTENTION_SHORT + 65};
    static const size_t widths[] = {5, 32, 33};
    for (size_t t = 0; t < 9; t++)
        for (size_t w = 0; w < (lengths[t] > 200 ? 1 : 3); w++) {
            const struct attention_sizes sizes = {1, 2, 2, widths[w], lengths[t], lengths[t]};
            check(&sizes, ATTENTION_PACKED, 0, &usual, &divisions[0], "packed");
            check(&sizes, ATTENTION_CACHE, w == 0 ? 0.3 : 0, &usual, &divisions[1], "cache");
        }
}

Test(attention, matches_the_oracle_at_ragged_lengths_in_every_layout)
{
    static const size_t widths[] = {1, 5, 16};
    static const struct change tiles[] = {{.tile = 1}, {.tile = 7}, {.tile = 16}, {.tile = 17}};
    for (size_t t = 0; t < ORACLE_SIZES; t++)
        for (size_t w = 0; w < 3; w++)
            for (size_t k = 0; k < 4; k++) {
                const size_t T = oracle_sizes[t];
                const struct attention_sizes sizes = {2, 4, 4, widths[w], T, T};
                check(&sizes, ATTENTION_DENSE, 0, &tiles[k], &divisions[0], "dense");
                check(&sizes, ATTENTION_PACKED, 0, &tiles[k], &divisions[1], "packed");
                check(&sizes, ATTENTION_CACHE, 0.3, &tiles[k], &divisions[2], "cache with dropout");
            }
}

Test(attention, matches_the_oracle_with_fewer_queries_than_keys)
{
    static const size_t lengths[][2] = {{1, 1}, {1, 2}, {1, 37}, {2, 17}, {15, 16}, {16, 17}, {17, 37}, {16, 37}};
    static const struct change changes[] = {{.tile = 16}, {.tile = 8, .windows = true, .window = 5}};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (size_t n = 0; n < 2; n++) {
            const struct attention_sizes sizes = {2, 2, 2, 5, lengths[k][0], lengths[k][1]};
            check(&sizes, ATTENTION_DENSE, 0, &changes[n], &divisions[0], "dense");
            check(&sizes, ATTENTION_CACHE, 0, &changes[n], &divisions[1], "cache");
            check(&sizes, ATTENTION_CACHE, 0.3, &changes[n], &divisions[1], "cache with dropout");
        }
    const struct attention_sizes row = {2, 2, 1, 37, 1, 200}; /* more keys than one walk takes at once */
    check(&row, ATTENTION_CACHE, 0, &usual, &divisions[0], "one query");
}

Test(attention, matches_the_oracle_with_heads_that_share_keys)
{
    static const size_t heads[][2] = {{2, 1}, {4, 2}, {6, 3}, {6, 2}, {8, 1}};
    static const struct change changes[] = {{.tile = 5}, {.tile = 8, .windows = true, .window = 3}};
    for (size_t k = 0; k < 5; k++)
        for (size_t n = 0; n < 2; n++)
            for (size_t d = 0; d < DIVISION_TEAMS; d++) {
                const struct attention_sizes sizes = {1, heads[k][0], heads[k][1], 3, 17, 17};
                check(&sizes, ATTENTION_PACKED, 0, &changes[n], &divisions[d], "packed");
                check(&sizes, ATTENTION_CACHE, 0.3, &changes[n], &divisions[d], "cache with dropout");
            }
}

Test(attention, matches_the_oracle_under_windows_of_every_length)
{
    for (size_t window = 0; window <= 40; window++) {
        const struct change change = {.tile = window % 2 ? 8 : 16, .windows = true, .window = window};
        const struct attention_sizes square = {1, 2, 2, 5, 37, 37}, later = {1, 2, 1, 5, 19, 37};
        check(&square, ATTENTION_PACKED, 0, &change, &divisions[window % DIVISION_TEAMS], "window");
        check(&later, ATTENTION_CACHE, window % 3 ? 0 : 0.3, &change, &divisions[(window + 1) % DIVISION_TEAMS],
              "window");
    }
    const struct change wide = {.windows = true, .window = 65};
    const struct attention_sizes sizes = {1, 2, 2, 8, 200, 200};
    check(&sizes, ATTENTION_PACKED, 0, &wide, &divisions[1], "a window past a tile");
}

Test(attention, rows_that_see_nothing_are_zeros)
{
    for (size_t T_q = 1; T_q <= 39; T_q += 19) {
        const struct change nothing = {.tile = 8, .windows = true, .window = 0, .bf16 = T_q > 20};
        const struct attention_sizes sizes = {2, 2, 1, 5, T_q, 39};
        struct attention_case c;
        make(&c, &sizes, ATTENTION_DENSE, 1, false, 0, &nothing);
        c.rules[0] = ATTENTION_WINDOW; /* no head sees anything */
        run(&c);
        for (size_t i = 0; i < c.y_block; i++)
            cr_assert(c.y[i] == 0 && c.dq[i] == 0);
        for (size_t i = 0; i < c.k_block; i++)
            cr_assert(c.dk[i] == 0 && c.dv[i] == 0);
        for (size_t row = 0; row < 2 * 2 * T_q; row++)
            cr_assert(c.rows.lse[row] == -INFINITY && c.rows.max_score[row] == -INFINITY && c.rows.entropy[row] == 0);
        attention_case_free(&c);
    }
}

Test(attention, matches_the_oracle_at_exact_scores_of_a_hundred_and_ten_thousand)
{
    static const double scores[] = {100, 1e4};
    static const struct change tiles[] = {{.tile = 0}, {.tile = 8, .windows = true, .window = 11}};
    for (size_t k = 0; k < 2; k++)
        for (size_t t = 0; t < ORACLE_SIZES; t++)
            for (size_t n = 0; n < 2; n++)
                for (int drop = 0; drop < 2; drop++) {
                    const struct attention_sizes sizes = {2, 2, 2, 7, oracle_sizes[t], oracle_sizes[t]};
                    struct attention_case c;
                    make(&c, &sizes, ATTENTION_PACKED, scores[k], true, drop ? 0.3 : 0, &tiles[n]);
                    run(&c);
                    expect_right(&c, LIMIT, "large scores");
                    attention_case_free(&c);
                }
}

/* The oracle is no better than a kernel in double. */
#ifdef NOPEEK_DOUBLE
#define ORACLE_ERROR LIMIT
#else
#define ORACLE_ERROR (double)REAL_EPSILON
#endif

/* Where scores themselves are rounded, the textbook in the same precision says how well it can be done. */
Test(attention, errs_at_most_twice_as_much_as_the_reference)
{
    static const double scores[] = {1, 30, 100, 1e4};
    static const size_t lengths[] = {37, 131, 257};
    for (size_t k = 0; k < 4; k++)
        for (size_t t = 0; t < 3; t++)
            for (size_t window = 0; window <= 50; window += 50) {
                const struct attention_sizes sizes = {1, 2, 2, 32, lengths[t], lengths[t]};
                struct attention_case c;
                const struct change change = {.windows = window > 0, .window = window};
                make(&c, &sizes, ATTENTION_PACKED, scores[k], false, 0, &change);
                run_as(&c, &divisions[0], false, true);
                const struct attention_errors ref = errors_of(&c);
                attention_case_clear(&c);
                run(&c);
                const struct attention_errors e = errors_of(&c);
                const double of[] = {e.y, e.lse, e.entropy, e.dq, e.dk, e.dv},
                             by[] = {ref.y, ref.lse, ref.entropy, ref.dq, ref.dk, ref.dv};
                static const char *const names[] = {"y", "lse", "entropy", "dq", "dk", "dv"};
                for (size_t n = 0; n < 6; n++)
                    cr_expect(of[n] <= 2 * by[n] + ORACLE_ERROR, "scores %g, T %zu, window %zu: %s %.3g of %.3g",
                              scores[k], lengths[t], window, names[n], of[n] / (double)REAL_EPSILON,
                              by[n] / (double)REAL_EPSILON);
                attention_case_free(&c);
            }
}

static bool same_bits(const struct attention_case *a, const struct attention_case *b)
{
    const struct attention_shape *s = &a->shape;
    const size_t q = a->q_block * sizeof(real), k = a->k_block * sizeof(real), y = a->y_block * sizeof(real);
    const size_t rows = s->B * s->H * s->T_q * sizeof(real);
    return memcmp(a->y, b->y, y) == 0 && memcmp(a->dq, b->dq, q) == 0 && memcmp(a->kept.max, b->kept.max, rows) == 0 &&
           memcmp(a->kept.share, b->kept.share, rows) == 0 && memcmp(a->rows.lse, b->rows.lse, rows) == 0 &&
           memcmp(a->rows.entropy, b->rows.entropy, rows) == 0 &&
           memcmp(a->rows.max_score, b->rows.max_score, rows) == 0 &&
           (a->layout == ATTENTION_PACKED || (memcmp(a->dk, b->dk, k) == 0 && memcmp(a->dv, b->dv, k) == 0));
}

Test(attention, every_number_of_lanes_gives_the_same_bits)
{
    static const struct attention_sizes all[] = {
        {1, 1, 1, 5, 37, 37}, {2, 3, 3, 5, 37, 37}, {1, 4, 2, 5, 20, 37}, {1, 6, 1, 3, 33, 33}, {3, 1, 1, 4, 1, 9}};
    static const struct change changes[] = {{.tile = 4}, {.tile = 7, .windows = true, .window = 9}};
    for (size_t n = 0; n < 5; n++)
        for (size_t k = 0; k < 2; k++)
            for (int drop = 0; drop < 2; drop++) {
                struct attention_case one, many;
                make(&one, &all[n], ATTENTION_DENSE, 1, false, drop ? 0.3 : 0, &changes[k]);
                make(&many, &all[n], ATTENTION_DENSE, 1, false, drop ? 0.3 : 0, &changes[k]);
                run(&one);
                for (size_t d = 1; d < DIVISION_TEAMS; d++) {
                    attention_case_clear(&many);
                    run_as(&many, &divisions[d], false, false);
                    cr_assert(same_bits(&one, &many), "sizes %zu, change %zu, dropout %d, %d lanes", n, k, drop,
                              divisions[d].lanes);
                }
                many.y[0] += 1;
                cr_assert(!same_bits(&one, &many));
                attention_case_free(&one);
                attention_case_free(&many);
            }
}

Test(attention, a_pass_that_logs_nothing_gives_the_same_bits)
{
    for (size_t T_q = 1; T_q <= 37; T_q += 12) { /* 1 and 25 in bf16 */
        const struct attention_sizes sizes = {2, 4, 2, 5, T_q, 37};
        const struct change change = {.tile = 8, .bf16 = T_q % 24 == 1};
        struct attention_case loud, quiet;
        make(&loud, &sizes, ATTENTION_DENSE, 1, false, 0, &change);
        make(&quiet, &sizes, ATTENTION_DENSE, 1, false, 0, &change);
        run(&loud);
        run_as(&quiet, &divisions[0], true, false);
        cr_assert(isnan(quiet.rows.lse[0]) && isnan(quiet.rows.entropy[0]), "nothing is written");
        quiet.rows = loud.rows;
        cr_assert(same_bits(&loud, &quiet));
        attention_case_free(&loud);
        attention_case_free(&quiet);
    }
}

Test(attention, entropy_keeps_its_digits_when_the_maximum_moves_at_scores_of_ten_thousand)
{
    /* q = (1, 100) and k_j = (r_j, +-100), r_j in sixteenths, give scores +-10000 + r_j without rounding. */
    for (int sign = -1; sign <= 1; sign += 2) {
        const struct attention_sizes sizes = {1, 2, 2, 2, 37, 37};
        const struct change change = {.tile = 4};
        struct attention_case c;
        make(&c, &sizes, ATTENTION_DENSE, 1, false, 0, &change);
        c.shape.scale = 1;
        for (size_t i = 0; i < c.q_block; i += 2) {
            c.q[i] = 1;
            c.q[i + 1] = 100;
            c.k[i] = (real)(round((double)c.k[i] * 16) / 16) + (real)(i / 8); /* rising: every tile moves it */
            c.k[i + 1] = (real)(sign * 100);
        }
        run(&c);
        expect_right(&c, LIMIT, "scores near 10000");
        attention_case_free(&c);
    }
}

/* Also where a row is one query over a cache, and rounded factors make it. */
Test(attention, entropy_lies_between_zero_and_the_log_of_the_visible_keys)
{
    static const double scores[] = {0, 1e-3, 1, 30, 1000, 1e6};
    for (size_t k = 0; k < 24; k++) {
        const size_t T_q = k % 4 < 2 ? 1 : 37;
        const struct change change = {.tile = 8, .bf16 = k % 2};
        const struct attention_sizes sizes = {2, 2, 2, 5, T_q, 37};
        struct attention_case c;
        make(&c, &sizes, ATTENTION_DENSE, scores[k / 4], false, 0, &change);
        run(&c);
        for (size_t row = 0; row < 2 * 2 * T_q; row++) {
            const size_t visible = row / T_q % 2 ? 37 : 37 - T_q + row % T_q + 1;
            const real h = c.rows.entropy[row];
            cr_assert(h >= 0 && h <= (real)log((double)visible), "scores %g, %zu queries, row %zu: %.9g of %zu keys",
                      scores[k / 4], T_q, row, (double)h, visible);
        }
        attention_case_free(&c);
    }
}

/* ---- what is not finite, and what lies later ---- */

/* Rows of results that must not change when key `key` does (or none: T_k) and query row `query` (or none: T_q), both of
 * batch row 0 and key head 0: compares bit for bit. */
static bool others_equal(const struct attention_case *a, const struct attention_case *b, size_t key, size_t query)
{
    const struct attention_shape *s = &a->shape;
    const size_t group = s->H / s->H_kv, bytes = s->hs * sizeof(real);
    for (size_t bh = 0; bh < s->B * s->H; bh++)
        for (size_t i = 0; i < s->T_q; i++) {
            const size_t batch = bh / s->H, h = bh % s->H, row = bh * s->T_q + i;
            const struct attention_interval seen = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
            const bool near = batch == 0 && h < group;
            if (near && ((key >= seen.begin && key < seen.end) || i == query))
                continue;
            const size_t y = batch * s->y_batch + i * s->y_stride + h * s->hs;
            const size_t q = batch * s->q_batch + i * s->q_stride + h * s->hs;
            if (memcmp(a->y + y, b->y + y, bytes) != 0 || memcmp(a->dq + q, b->dq + q, bytes) != 0 ||
                memcmp(&a->rows.lse[row], &b->rows.lse[row], sizeof(real)) != 0 ||
                memcmp(&a->rows.entropy[row], &b->rows.entropy[row], sizeof(real)) != 0)
                return false;
        }
    /* A key's gradient takes from every query that sees it, and of those from every key that they see. */
    for (size_t bh = 0; bh < s->B * s->H_kv; bh++)
        for (size_t j = 0; j < s->T_k; j++) {
            const size_t batch = bh / s->H_kv, h_kv = bh % s->H_kv;
            bool touched = false;
            for (size_t i = 0; batch == 0 && h_kv == 0 && i < s->T_q; i++)
                for (size_t h = 0; h < group; h++) {
                    const struct attention_interval seen =
                        attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
                    touched |= j >= seen.begin && j < seen.end && (i == query || (key >= seen.begin && key < seen.end));
                }
            const size_t at = batch * s->k_batch + j * s->k_stride + h_kv * s->hs;
            if (!touched && (memcmp(a->dk + at, b->dk + at, bytes) != 0 || memcmp(a->dv + at, b->dv + at, bytes) != 0))
                return false;
        }
    return true;
}

static const double bad[] = {NAN, INFINITY, -INFINITY};

Test(attention, what_is_not_finite_in_a_key_or_value_reaches_no_row_that_does_not_see_it)
{
    static const size_t queries[] = {37, 21, 1};
    for (size_t t = 0; t < 3; t++)
        for (int drop = 0; drop < 2; drop++)
            for (unsigned bits = 0; bits < 4; bits++) {
                const bool windows = bits & 1, bf16 = bits & 2;
                const struct attention_sizes sizes = {2, 4, 2, 5, queries[t], 37};
                const struct change change = {.tile = 8, .windows = windows, .window = 11, .bf16 = bf16};
                struct attention_case clean, spoiled;
                make(&clean, &sizes, ATTENTION_CACHE, 1, false, drop ? 0.3 : 0, &change);
                make(&spoiled, &sizes, ATTENTION_CACHE, 1, false, drop ? 0.3 : 0, &change);
                if (windows)
                    clean.rules[0] = spoiled.rules[0] = ATTENTION_WINDOW;
                else
                    clean.rules[1] = spoiled.rules[1] = ATTENTION_CAUSAL;
                run(&clean);
                for (size_t at = 0; at < 37; at++)
                    for (size_t kind = 0; kind < 3; kind++) {
                        real *k = spoiled.k + at * spoiled.shape.k_stride, *v = spoiled.v + at * spoiled.shape.v_stride;
                        const real kept_k = k[at % 5], kept_v = v[at % 5];
                        k[at % 5] = v[at % 5] = (real)bad[kind];
                        attention_case_clear(&spoiled);
                        run(&spoiled);
                        k[at % 5] = kept_k;
                        v[at % 5] = kept_v;
                        cr_assert(others_equal(&clean, &spoiled, at, 37), "%g at key %zu, %zu queries, windows %d",
                                  bad[kind], at, queries[t], windows);
                        const size_t first = at + queries[t] >= 37 ? at + queries[t] - 37 : 0;
                        if (!windows || at + 11 > 37 - queries[t] + first)
                            cr_assert(kind > 0 || isnan(spoiled.rows.lse[first]), "key %zu: a row that sees it", at);
                    }
                attention_case_free(&clean);
                attention_case_free(&spoiled);
            }
}

Test(attention, an_infinite_value_alone_reaches_exactly_the_rows_that_see_it)
{
    const struct attention_sizes sizes = {1, 1, 1, 5, 37, 37};
    const struct change change = {.tile = 8};
    struct attention_case c;
    make(&c, &sizes, ATTENTION_DENSE, 1, false, 0, &change);
    for (size_t at = 0; at < 37; at++) {
        const real kept = c.v[at * 5 + 2];
        c.v[at * 5 + 2] = INFINITY;
        attention_case_clear(&c);
        run(&c);
        c.v[at * 5 + 2] = kept;
        for (size_t i = 0; i < 37; i++)
            for (size_t n = 0; n < 5; n++)
                cr_assert(i >= at && n == 2 ? c.y[i * 5 + n] == INFINITY : isfinite(c.y[i * 5 + n]));
    }
    attention_case_free(&c);
}

Test(attention, nan_in_a_query_or_its_gradient_reaches_only_keys_that_the_query_sees)
{
    for (unsigned bits = 0; bits < 4; bits++) {
        const bool windows = bits & 1, bf16 = bits & 2;
        const struct attention_sizes sizes = {1, 2, 1, 5, 37, 37};
        const struct change change = {.tile = 8, .windows = windows, .window = 11, .bf16 = bf16};
        struct attention_case clean, spoiled;
        make(&clean, &sizes, ATTENTION_DENSE, 1, false, 0, &change);
        make(&spoiled, &sizes, ATTENTION_DENSE, 1, false, 0, &change);
        if (windows)
            clean.rules[0] = spoiled.rules[0] = ATTENTION_WINDOW;
        else
            clean.rules[1] = spoiled.rules[1] = ATTENTION_CAUSAL;
        run(&clean);
        for (size_t at = 0; at < 37; at++) {
            real *q = spoiled.q + at * spoiled.shape.q_stride, *dy = spoiled.dy + at * spoiled.shape.y_stride;
            const real kept_q = q[at % 10], kept_dy = dy[at % 10];
            q[at % 10] = dy[at % 10] = (real)NAN;
            attention_case_clear(&spoiled);
            run(&spoiled);
            q[at % 10] = kept_q;
            dy[at % 10] = kept_dy;
            cr_assert(others_equal(&clean, &spoiled, 37, at), "NaN at query %zu", at);
            cr_assert(!others_equal(&clean, &spoiled, 37, 37), "and is not lost");
        }
        attention_case_free(&clean);
        attention_case_free(&spoiled);
    }
}

Test(attention, changing_a_later_key_moves_no_bit_of_an_earlier_row)
{
    for (unsigned bits = 0; bits < 4; bits++) {
        const bool windows = bits & 1, bf16 = bits & 2;
        const struct attention_sizes sizes = {2, 4, 2, 5, 37, 37};
        const struct change change = {.tile = 8, .windows = windows, .window = 11, .bf16 = bf16};
        struct attention_case clean, moved;
        make(&clean, &sizes, ATTENTION_DENSE, 1e6, false, 0, &change);
        make(&moved, &sizes, ATTENTION_DENSE, 1e6, false, 0, &change);
        run(&clean);
        for (size_t at = 0; at < 37; at++) {
            real *k = moved.k + at * moved.shape.k_stride, *v = moved.v + at * moved.shape.v_stride;
            const real kept_k = *k, kept_v = *v;
            *k += 3;
            *v += 3;
            attention_case_clear(&moved);
            run(&moved);
            *k = kept_k;
            *v = kept_v;
            cr_assert(others_equal(&clean, &moved, at, 37), "key %zu", at);
        }
        attention_case_free(&clean);
        attention_case_free(&moved);
    }
}

/* ---- planted faults ---- */

Test(attention, planted_faults_are_caught)
{
    static const struct {
        enum attention_fault fault;
        bool forward; /* shows in y */
    } faults[] = {{ATTENTION_FAULT_TILE_DIAGONAL, true},
                  {ATTENTION_FAULT_TILE_EDGE, true},
                  {ATTENTION_FAULT_WINDOW_EDGE, true},
                  {ATTENTION_FAULT_TILE_BACKWARD, false}};
    for (size_t n = 0; n < 4; n++)
        for (size_t tile = 8; tile <= 64; tile += 56) {
            const struct attention_sizes sizes = {1, 2, 2, 5, tile + 9, tile + 9};
            const struct change change = {.tile = tile == 64 ? 0 : tile, .windows = true, .window = 5};
            struct attention_case c;
            make(&c, &sizes, ATTENTION_PACKED, 1, false, 0, &change);
            c.shape.fault = faults[n].fault;
            c.shape.fault_head = 1;
            run(&c);
            const struct attention_errors e = errors_of(&c);
            cr_expect(e.dq > 100 * LIMIT && e.dk > 100 * LIMIT, "fault %zu, tile %zu: backward", n, tile);
            cr_expect((e.y > 100 * LIMIT) == faults[n].forward, "fault %zu, tile %zu: forward", n, tile);
            c.shape.fault_head = ATTENTION_EVERY_HEAD; /* of a head without a window its edge is none */
            c.shape.fault = ATTENTION_FAULT_NONE;
            attention_case_clear(&c);
            run(&c);
            expect_right(&c, LIMIT, "no fault");
            attention_case_free(&c);
        }
}

Test(attention, one_query_over_a_cache_is_the_last_row_of_the_whole_text)
{
    const struct attention_sizes all = {1, 4, 2, 20, 137, 137};
    const struct change change = {.windows = true, .window = 70};
    struct attention_case whole, last;
    make(&whole, &all, ATTENTION_PACKED, 1, false, 0, &change);
    run(&whole);
    for (size_t T = 1; T <= 137; T += 4) {
        const size_t at = T - 1;
        last = whole;
        last.pool = (struct pool){0};
        last.layout = ATTENTION_DENSE;
        last.shape.T_q = 1;
        last.shape.T_k = T;
        last.k_block = T * last.shape.k_stride;
        last.q_block = last.shape.q_stride;
        last.q = whole.q + at * whole.shape.q_stride;
        last.shape.rules = last.rules;
        attention_case_clear(&last);
        struct call call = {&last, pool_real(&last.pool, attention_scratch(&last.shape, 1)), false, false};
        forward(&lane_alone, &call);
        for (size_t h = 0; h < 4; h++) {
            const real *y = last.y + h * 20, *want = whole.y + at * whole.shape.y_stride + h * 20;
            for (size_t i = 0; i < 20; i++)
                cr_assert(fabs((double)(y[i] - want[i])) <= LIMIT * 4, "position %zu, head %zu", at, h);
            cr_assert(fabs((double)(last.rows.entropy[h] - whole.rows.entropy[h * 137 + at])) <= LIMIT * 4);
        }
        attention_case_free(&last);
    }
    attention_case_free(&whole);
}

Test(attention, scratch_grows_with_the_rows_and_not_with_their_square)
{
    struct attention_shape s = {.B = 1, .H = 1, .H_kv = 1, .hs = 64, .T_q = 16384, .T_k = 16384};
    const size_t once = attention_scratch(&s, 2);
    s.T_q = s.T_k = 32768;
    cr_assert(attention_scratch(&s, 2) <= 2 * once);
    /* each lane sums dk and dv of one head beside what is of no size */
    cr_assert(once < 16384 * (2 * 2 * 64 + 16));
}
