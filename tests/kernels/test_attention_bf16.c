/* The tiled attention with its products in bf16, on every instruction set. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/attention_tile.h"
#include "kernels/bf16.h"
#include "kernels/gemm.h"
#include "support/attention_case.h"
#include "support/division.h"
#include "support/machine.h"

TestSuite(attention_bf16, .init = gemm_setup);

#define UNIT (BF16_EPSILON / 2) /* what rounding one factor may change, relatively */
/* What fp32 may, in sums of some hundred terms and, times the size of a score, in the exponential of one. */
#define SINGLE (16 * (double)REAL_EPSILON)

struct call {
    struct attention_case *c;
    real *scratch;
};

static void forward(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct attention_case *c = call->c;
    attention_forward(lane, c->y, &c->rows, &c->kept, c->q, c->k, c->v, &c->shape, &c->drop, call->scratch);
}

static void backward(const struct lane *lane, void *context)
{
    const struct call *call = context;
    struct attention_case *c = call->c;
    attention_backward(lane, c->dq, c->dk, c->dv, c->dy, c->y, &c->kept, c->q, c->k, c->v, &c->shape, &c->drop,
                       call->scratch);
}

static void run(struct attention_case *c, const struct division *d)
{
    struct pool pool = {0};
    struct call call = {c, pool_real(&pool, attention_scratch(&c->shape, d->lanes))};
    division_run(d, forward, &call);
    division_run(d, backward, &call);
    pool_free(&pool);
}

static void make(struct attention_case *c, const struct attention_sizes *sizes, enum attention_layout layout,
                 double scores, bool exact, double p, size_t tile, size_t window)
{
    attention_case_init(c, sizes, layout, scores, exact, p);
    c->shape.bf16 = true;
    c->shape.tile = tile;
    c->shape.window = window;
    for (size_t h = 1; window > 0 && h < sizes->H; h += 2)
        c->rules[h] = ATTENTION_WINDOW;
}

/* ---- the oracle: factors rounded as the kernel rounds them, but for weights and dS, whose rounding is a bound ---- */

/* Errors over what is allowed. */
struct worst {
    double y, entropy, dq, dk, dv;
};

static double rounded(real x)
{
    return (double)bf16_round(x);
}

static double over(double worst, double found, double right, double allowed)
{
    const double error = fabs(found - right) / (allowed + 1e-30);
    return error <= worst ? worst : isnan(error) ? (double)INFINITY : error;
}

/* What is right in gradients of keys and values, and how far they may be off: (T_k,hs) of one key head each. */
struct sums {
    double *dk, *dk_off, *dv, *dv_off;
};

/* One query. Of weights only the rounding is not known, at most UNIT of each:
 *   y  = sum p v           off by  UNIT sum p |v|
 *   D  = dy . y            off by  sum |dy| off(y)
 *   dS = p (dP - D)        off by  p off(D), and UNIT of it when rounded
 *   dq = scale sum dS k, dk = scale sum dS q, dv = sum p dy  accordingly.
 * A weight of 1 is exact: where one key is seen dS cancels but for fp32's rounding. */
static void judge_query(struct worst *w, const struct attention_case *c, struct sums *sums, double *p, double *dp,
                        real *keep, size_t b, size_t h, size_t i, bool exact)
{
    const struct attention_shape *s = &c->shape;
    const size_t hs = s->hs, h_kv = h / (s->H / s->H_kv), row = (b * s->H + h) * s->T_q + i;
    const size_t at_q = b * s->q_batch + i * s->q_stride + h * hs, at_y = b * s->y_batch + i * s->y_stride + h * hs;
    const real *q = c->q + at_q, *dy = c->dy + at_y;
    const real *keys = c->k + b * s->k_batch + h_kv * hs, *values = c->v + b * s->v_batch + h_kv * hs;
    const struct attention_interval seen = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
    double m = -INFINITY, l = 0, a = 0, size = 0;
    dropout_mask(&lane_alone, keep, &c->drop, b, h, i * s->T_k, s->T_k);
    for (size_t j = seen.begin; j < seen.end; j++) {
        double terms = 0;
        p[j] = dp[j] = 0;
        for (size_t n = 0; n < hs; n++) {
            const double term = (double)s->scale * rounded(q[n]) * rounded(keys[j * s->k_stride + n]);
            p[j] += term;
            terms += fabs(term);
            dp[j] += (double)keep[j] * rounded(dy[n]) * rounded(values[j * s->v_stride + n]);
        }
        m = fmax(m, p[j]);
        size = fmax(size, terms);
    }
    for (size_t j = seen.begin; j < seen.end; j++) {
        const double z = p[j] - m;
        l += p[j] = exp(z);
        a += p[j] * z;
    }
    const bool alone = seen.end - seen.begin == 1 && c->drop.p == 0;
    const double single = SINGLE * (1 + (exact ? 0 : size)), unit = (alone ? 0 : UNIT) + single;
    double d = 0, d_off = 0, d_size = 0;
    for (size_t n = 0; n < hs; n++) {
        double y = 0, off = 0;
        for (size_t j = seen.begin; j < seen.end; j++) {
            const double term = p[j] / l * (double)keep[j] * rounded(values[j * s->v_stride + n]);
            y += term;
            off += unit * fabs(term);
        }
        w->y = over(w->y, (double)c->y[at_y + n], y, off);
        d_off += fabs(rounded(dy[n])) * off;
    }
    if (seen.begin < seen.end)
        w->entropy = over(w->entropy, (double)c->rows.entropy[row], log(l) - a / l, single * (1 + log((double)s->T_k)));
    for (size_t j = seen.begin; j < seen.end; j++) {
        p[j] /= l;
        d += p[j] * dp[j];
        d_size += p[j] * fabs(dp[j]);
    }
    for (size_t n = 0; n < hs; n++) {
        double dq = 0, off = 0;
        for (size_t j = seen.begin; j < seen.end; j++) {
            const double ds = (double)s->scale * p[j] * (dp[j] - d), kept = p[j] * (double)keep[j];
            double dp_size = 0;
            for (size_t k = 0; k < hs; k++)
                dp_size += (double)keep[j] * fabs(rounded(dy[k]) * rounded(values[j * s->v_stride + k]));
            const double ds_off =
                (double)s->scale * p[j] * (d_off * (1 + unit) + single * (dp_size + d_size)) + unit * fabs(ds);
            const double key = rounded(keys[j * s->k_stride + n]);
            dq += ds * key;
            off += ds_off * fabs(key);
            sums->dk[j * hs + n] += ds * rounded(q[n]);
            sums->dk_off[j * hs + n] += ds_off * fabs(rounded(q[n]));
            sums->dv[j * hs + n] += kept * rounded(dy[n]);
            sums->dv_off[j * hs + n] += unit * kept * fabs(rounded(dy[n]));
        }
        w->dq = over(w->dq, (double)c->dq[at_q + n], dq, off);
    }
}

/* exact: scores are numbers without rounding. */
static struct worst judge(const struct attention_case *c, bool exact)
{
    const struct attention_shape *s = &c->shape;
    const size_t group = s->H / s->H_kv, n = s->T_k * s->hs;
    struct worst w = {0};
    for (size_t b = 0; b < s->B; b++)
        for (size_t h_kv = 0; h_kv < s->H_kv; h_kv++) {
            struct pool pool = {0};
            struct sums sums = {pool_double(&pool, n), pool_double(&pool, n), pool_double(&pool, n),
                                pool_double(&pool, n)};
            double *p = pool_double(&pool, s->T_k), *dp = pool_double(&pool, s->T_k);
            real *keep = pool_real(&pool, s->T_k);
            for (size_t h = h_kv * group; h < (h_kv + 1) * group; h++)
                for (size_t i = 0; i < s->T_q; i++)
                    judge_query(&w, c, &sums, p, dp, keep, b, h, i, exact);
            for (size_t j = 0; j < s->T_k; j++)
                for (size_t k = 0; k < s->hs; k++) {
                    const size_t at = b * s->k_batch + j * s->k_stride + h_kv * s->hs + k, of = j * s->hs + k;
                    w.dk = over(w.dk, (double)c->dk[at], sums.dk[of], sums.dk_off[of]);
                    w.dv = over(w.dv, (double)c->dv[at], sums.dv[of], sums.dv_off[of]);
                }
            pool_free(&pool);
        }
    return w;
}

static double most(const struct worst *w)
{
    return fmax(fmax(w->y, w->entropy), fmax(w->dq, fmax(w->dk, w->dv)));
}

static void expect_right(const struct attention_case *c, bool exact, const struct division *d, const char *what)
{
    const struct attention_shape *s = &c->shape;
    const struct worst w = judge(c, exact);
    cr_assert(most(&w) <= 1,
              "%s on %s, tile %zu, window %zu, H %zu over %zu, hs %zu, T %zu of %zu: y %.3g entropy %.3g dq %.3g dk "
              "%.3g dv %.3g of what is allowed",
              what, isa_name(d->isa), s->tile, s->window, s->H, s->H_kv, s->hs, s->T_q, s->T_k, w.y, w.entropy, w.dq,
              w.dk, w.dv);
}

static void check(const struct attention_sizes *sizes, enum attention_layout layout, double p, size_t tile,
                  size_t window, const char *what)
{
    for (size_t d = 0; d < DIVISION_TEAMS; d++) {
        struct attention_case c;
        make(&c, sizes, layout, 1, false, p, tile, window);
        run(&c, &divisions[d]);
        expect_right(&c, false, &divisions[d], what);
        attention_case_free(&c);
    }
}

Test(attention_bf16, is_within_the_rounding_of_its_factors_around_its_own_tiles)
{
    static const size_t lengths[] = {1, 2, 31, 32, 33, 63, 64, 65, 131}, widths[] = {1, 5, 32, 33, 64};
    for (size_t t = 0; t < 9; t++)
        for (size_t w = 0; w < (lengths[t] > 66 ? 2 : 5); w++) {
            const struct attention_sizes sizes = {1, 2, 2, widths[w], lengths[t], lengths[t]};
            check(&sizes, ATTENTION_PACKED, 0, 0, 0, "packed");
            check(&sizes, ATTENTION_DENSE, 0.3, 0, 0, "dropout");
        }
    const struct attention_sizes large = {1, 1, 1, 8, ATTENTION_SHORT + 65, ATTENTION_SHORT + 65};
    check(&large, ATTENTION_PACKED, 0, 0, 0, "large tiles");
}

Test(attention_bf16, is_within_rounding_with_ragged_tiles_fewer_queries_shared_keys_and_windows)
{
    static const size_t lengths[][2] = {{1, 1}, {1, 37}, {2, 17}, {15, 16}, {17, 37}, {37, 37}},
                        tiles[] = {1, 7, 16, 17};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (size_t n = 0; n < 4; n++) {
            const struct attention_sizes sizes = {2, 4, n % 2 ? 2 : 4, 5, lengths[k][0], lengths[k][1]};
            check(&sizes, ATTENTION_CACHE, 0, tiles[n], 0, "cache");
            check(&sizes, ATTENTION_CACHE, 0.3, tiles[n], 5, "window and dropout");
        }
}

Test(attention_bf16, is_within_rounding_at_exact_scores_of_a_hundred_and_ten_thousand)
{
    for (size_t k = 0; k < 2; k++)
        for (size_t t = 0; t < ORACLE_SIZES; t++)
            for (size_t d = 0; d < DIVISION_TEAMS; d++) {
                const struct attention_sizes sizes = {2, 2, 2, 7, oracle_sizes[t], oracle_sizes[t]};
                struct attention_case c;
                make(&c, &sizes, ATTENTION_PACKED, k ? 1e4 : 100, true, d % 2 ? 0.3 : 0, d % 3 ? 0 : 8, d % 2 ? 11 : 0);
                run(&c, &divisions[d]);
                expect_right(&c, true, &divisions[d], "large scores");
                attention_case_free(&c);
            }
}

static bool same_bits(const struct attention_case *a, const struct attention_case *b)
{
    const struct attention_shape *s = &a->shape;
    const size_t q = a->q_block * sizeof(real), k = a->k_block * sizeof(real);
    const size_t rows = s->B * s->H * s->T_q * sizeof(real);
    return memcmp(a->y, b->y, a->y_block * sizeof(real)) == 0 && memcmp(a->dq, b->dq, q) == 0 &&
           memcmp(a->dk, b->dk, k) == 0 && memcmp(a->dv, b->dv, k) == 0 &&
           memcmp(a->rows.entropy, b->rows.entropy, rows) == 0 && memcmp(a->kept.share, b->kept.share, rows) == 0;
}

Test(attention_bf16, every_number_of_lanes_gives_the_same_bits_and_not_those_of_fp32)
{
    static const struct attention_sizes all[] = {{2, 3, 3, 5, 37, 37}, {1, 4, 2, 5, 20, 37}, {1, 6, 1, 33, 33, 33}};
    for (int isa = 0; isa <= (int)support_isa(); isa++)
        for (size_t n = 0; n < 3; n++)
            for (int drop = 0; drop < 2; drop++) {
                struct attention_case one, many;
                make(&one, &all[n], ATTENTION_DENSE, 1, false, drop ? 0.3 : 0, 7, drop ? 9 : 0);
                make(&many, &all[n], ATTENTION_DENSE, 1, false, drop ? 0.3 : 0, 7, drop ? 9 : 0);
                run(&one, &(struct division){1, true, (enum isa)isa});
                for (int lanes = 2; lanes <= 5; lanes++) {
                    attention_case_clear(&many);
                    run(&many, &(struct division){lanes, true, (enum isa)isa});
                    cr_assert(same_bits(&one, &many), "%d lanes", lanes);
                }
                attention_case_clear(&many);
                many.shape.bf16 = false;
                run(&many, &(struct division){1, true, (enum isa)isa});
                cr_assert(!same_bits(&one, &many));
                attention_case_free(&one);
                attention_case_free(&many);
            }
}

/* Rows of y that do not see key `at`, and gradients of queries there, keep every bit; the first that sees it shows it.
 */
static void expect_only_seen(const struct attention_case *clean, const struct attention_case *spoiled, size_t at)
{
    const struct attention_shape *s = &clean->shape;
    for (size_t h = 0; h < s->H; h++)
        for (size_t i = 0; i < s->T_q; i++) {
            const struct attention_interval seen = attention_shape_keys(s->rules[h], s->window, s->T_q, s->T_k, i);
            const size_t y = i * s->y_stride + h * s->hs, q = i * s->q_stride + h * s->hs;
            if (at < seen.begin || at >= seen.end) {
                cr_assert_eq(memcmp(clean->y + y, spoiled->y + y, s->hs * sizeof(real)), 0, "row %zu, key %zu", i, at);
                cr_assert_eq(memcmp(clean->dq + q, spoiled->dq + q, s->hs * sizeof(real)), 0, "row %zu, key %zu", i,
                             at);
            } else {
                cr_assert(!isfinite(spoiled->y[y + 1]), "row %zu, key %zu", i, at);
            }
        }
}

Test(attention_bf16, what_a_bf16_cannot_hold_in_a_value_reaches_exactly_the_rows_that_see_it)
{
    static const double bad[] = {NAN, INFINITY, 3.4e38}; /* the last rounds to infinity */
    for (int isa = 0; isa <= (int)support_isa(); isa++)
        for (size_t kind = 0; kind < 3; kind++)
            for (size_t window = 0; window <= 9; window += 9) {
                const struct division d = {1, true, (enum isa)isa};
                const struct attention_sizes sizes = {1, 2, 1, 5, 37, 37};
                struct attention_case clean, spoiled;
                make(&clean, &sizes, ATTENTION_DENSE, 1, false, 0, 8, window);
                make(&spoiled, &sizes, ATTENTION_DENSE, 1, false, 0, 8, window);
                clean.rules[1] = spoiled.rules[1] = window ? ATTENTION_WINDOW : ATTENTION_CAUSAL;
                run(&clean, &d);
                for (size_t at = 0; at < 37; at++) {
                    real *v = spoiled.v + at * spoiled.shape.v_stride + 1;
                    const real before = *v;
                    *v = (real)bad[kind];
                    attention_case_clear(&spoiled);
                    run(&spoiled, &d);
                    *v = before;
                    expect_only_seen(&clean, &spoiled, at);
                }
                attention_case_free(&clean);
                attention_case_free(&spoiled);
            }
}

Test(attention_bf16, planted_faults_are_caught)
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
            struct attention_case c;
            make(&c, &sizes, ATTENTION_PACKED, 1, false, 0, tile == 64 ? 0 : tile, 5);
            c.shape.fault = faults[n].fault;
            c.shape.fault_head = 1;
            run(&c, &divisions[0]);
            const struct worst w = judge(&c, false);
            cr_expect(w.dq > 10 && w.dk > 10, "fault %zu, tile %zu: %g, %g", n, tile, w.dq, w.dk);
            cr_expect((w.y > 10) == faults[n].forward, "fault %zu, tile %zu: %g", n, tile, w.y);
            attention_case_free(&c);
        }
}
