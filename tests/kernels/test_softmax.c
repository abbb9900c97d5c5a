#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>

#include "kernels/softmax.h"
#include "support/oracle.h"

/* Per 1 + ln n, which is how large entropy and ln l can be. */
#define LIMIT (8 * (double)REAL_EPSILON)

enum fault { NONE, FLIPPED_SIGN, ENTROPY_FROM_LSE, LAST_SCORE_MISSING, MAXIMUM_STARTS_AT_ZERO, FAULTS };

struct errors {
    double p, max, lse, log_l, entropy, sum;
};

/* Of one row against the definition in double. FLIPPED_SIGN turns the entropy's second term. */
static struct errors row_errors(const real *s, size_t n, enum fault fault)
{
    struct pool pool = {0};
    double m = fault == MAXIMUM_STARTS_AT_ZERO ? 0 : -INFINITY, l = 0, mean = 0;
    const size_t seen = n - (fault == LAST_SCORE_MISSING);
    for (size_t j = 0; j < seen; j++)
        m = fmax(m, (double)s[j]);
    double *p = pool_double(&pool, n);
    for (size_t j = 0; j < seen; j++) {
        p[j] = exp((double)s[j] - m);
        l += p[j];
    }
    for (size_t j = 0; j < seen; j++) {
        p[j] /= l;
        mean += p[j] == 0 ? 0 : p[j] * ((double)s[j] - m);
    }
    const double lse = m + log(l), log_l = log(l);
    double entropy = fault == FLIPPED_SIGN ? log_l + mean : log_l - mean;
    real *got = pool_copy(&pool, s, n);
    const struct softmax_stats stats = softmax_row(got, n);
    if (fault == ENTROPY_FROM_LSE) { /* lse - E[s], in the precision at hand */
        real expected = 0;
        for (size_t j = 0; j < n; j++)
            expected += got[j] == 0 ? 0 : got[j] * s[j];
        entropy = (double)(stats.lse - expected);
    }
    const double unit = 1 + log((double)n);
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (double)got[j];
    const struct errors e = {
        .p = oracle_error(got, p, n) / unit, /* the sum l rounds off more the longer it is */
        .max = oracle_error_over(&stats.max, &m, 1, 1),
        .lse = oracle_error_over(&stats.lse, &lse, 1, unit + fabs(m)),
        .log_l = oracle_error_over(&stats.log_l, &log_l, 1, unit),
        .entropy = oracle_error_over(&stats.entropy, &entropy, 1, unit),
        .sum = fabs(sum - 1),
    };
    if (fault == NONE)
        cr_assert(stats.entropy >= 0 && stats.entropy <= (real)log((double)n), "entropy %g of %zu",
                  (double)stats.entropy, n);
    pool_free(&pool);
    return e;
}

static bool right(const struct errors *e)
{
    return e->p <= LIMIT && e->max == 0 && e->lse <= LIMIT && e->log_l <= LIMIT && e->entropy <= LIMIT &&
           e->sum <= 1e-6;
}

/* Scores of deviation `spread` around `center`, as exact as `real` holds them. */
static real *scores(struct pool *pool, size_t n, double center, double spread)
{
    real *s = pool_normal(pool, n, (uint32_t)n, spread);
    for (size_t j = 0; j < n; j++)
        s[j] = (real)(center + (double)s[j]);
    return s;
}

static const size_t lengths[] = {1, 2, 15, 16, 17, 37, 256, 1009};
#define LENGTHS (sizeof lengths / sizeof *lengths)

Test(softmax, weights_and_statistics_match_the_definition_up_to_scores_of_ten_thousand)
{
    static const double shapes[][2] = {{0, 0},   {0, 1},     {0, 100},    {100, 1},  {-100, 1},
                                       {0, 1e4}, {1e4, 0.5}, {-1e4, 0.5}, {1e4, 10}, {-1e4, 100}};
    for (size_t k = 0; k < LENGTHS; k++)
        for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
            struct pool pool = {0};
            const struct errors e = row_errors(scores(&pool, lengths[k], shapes[c][0], shapes[c][1]), lengths[k], NONE);
            cr_assert(right(&e), "n %zu, scores %g +- %g: p %.3g lse %.3g ln l %.3g entropy %.3g sum %.3g", lengths[k],
                      shapes[c][0], shapes[c][1], e.p, e.lse, e.log_l, e.entropy, e.sum);
            pool_free(&pool);
        }
}

Test(softmax, harness_catches_planted_faults)
{
    struct pool pool = {0};
    const real *s = scores(&pool, 37, -1e4, 0.5);
    for (int fault = NONE + 1; fault < FAULTS; fault++) {
        const struct errors e = row_errors(s, 37, (enum fault)fault);
        cr_assert(!right(&e), "fault %d passes unseen", fault);
        cr_assert(!(e.entropy <= LIMIT), "fault %d passes unseen in the entropy", fault);
    }
    pool_free(&pool);
}

Test(softmax, entropy_of_equal_scores_is_the_log_of_their_number_and_of_one_winner_zero)
{
    static const double levels[] = {0, 3, -100, 1e4, -1e4};
    for (size_t k = 0; k < LENGTHS; k++)
        for (size_t c = 0; c < 5; c++) {
            const size_t n = lengths[k];
            struct pool pool = {0};
            real *s = scores(&pool, n, levels[c], 0);
            const struct softmax_stats uniform = softmax_row(s, n);
            cr_assert(fabs((double)uniform.entropy - log((double)n)) <= LIMIT * (1 + log((double)n)));
            cr_assert(uniform.entropy <= (real)log((double)n));
            for (size_t j = 0; j < n; j++)
                cr_assert(fabs((double)s[j] * (double)n - 1) <= LIMIT);
            s = scores(&pool, n, levels[c], 0);
            s[n / 2] += 2000;
            const struct softmax_stats winner = softmax_row(s, n);
            cr_assert(winner.entropy == 0 && !signbit(winner.entropy));
            for (size_t j = 0; j < n; j++)
                cr_assert(s[j] == (j == n / 2));
            pool_free(&pool);
        }
}

Test(softmax, one_score_has_weight_one_whatever_it_is)
{
    static const double values[] = {0, 1, -1, 1e4, -1e4, 1e30, -1e30};
    for (size_t k = 0; k < 7; k++) {
        real s = (real)values[k];
        const struct softmax_stats stats = softmax_row(&s, 1);
        cr_assert(s == 1 && stats.max == (real)values[k] && stats.lse == (real)values[k]);
        cr_assert(stats.log_l == 0 && stats.entropy == 0);
    }
}

Test(softmax, nothing_visible_gives_zeros_never_nan)
{
    const struct softmax_stats none = softmax_row(NULL, 0);
    cr_assert(none.max == -(real)INFINITY && none.lse == -(real)INFINITY && none.entropy == 0);
    for (size_t n = 1; n <= 37; n++) {
        real s[37];
        for (size_t j = 0; j < n; j++)
            s[j] = -(real)INFINITY;
        const struct softmax_stats stats = softmax_row(s, n);
        cr_assert(stats.max == -(real)INFINITY && stats.lse == -(real)INFINITY && stats.entropy == 0);
        for (size_t j = 0; j < n; j++)
            cr_assert(s[j] == 0 && !signbit(s[j]));
    }
}

Test(softmax, minus_infinity_gets_exactly_zero_and_changes_nothing_else)
{
    for (size_t n = 2; n <= 37; n++)
        for (size_t hidden = 0; hidden < n; hidden++) {
            struct pool pool = {0};
            real *s = scores(&pool, n, 0, 3);
            s[hidden] = -(real)INFINITY;
            const struct errors e = row_errors(s, n, NONE); /* the definition: 0 ln 0 counts as 0 */
            cr_assert(right(&e), "n %zu, hidden %zu: entropy %.3g", n, hidden, e.entropy);
            softmax_row(s, n);
            cr_assert(s[hidden] == 0);
            pool_free(&pool);
        }
}

Test(softmax, nan_anywhere_makes_every_weight_nan)
{
    for (size_t n = 1; n <= 37; n++)
        for (size_t at = 0; at < n; at++) {
            struct pool pool = {0};
            real *s = scores(&pool, n, 0, 3);
            s[at] = (real)NAN;
            const struct softmax_stats stats = softmax_row(s, n);
            cr_assert(isnan(stats.max) && isnan(stats.lse) && isnan(stats.log_l) && isnan(stats.entropy));
            for (size_t j = 0; j < n; j++)
                cr_assert(isnan(s[j]), "n %zu, NaN at %zu, weight %zu is %g", n, at, j, (double)s[j]);
            pool_free(&pool);
        }
}
