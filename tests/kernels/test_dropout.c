#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "kernels/dropout.h"
#include "support/division.h"
#include "support/machine.h"
#include "support/oracle.h"

static struct dropout some_dropout(double p)
{
    return (struct dropout){.p = p, .site = {.seed = 7, .purpose = RNG_TEST, .step = 3, .layer = 2}, .first_row = 4};
}

static real *mask_of(struct pool *pool, enum isa isa, const struct dropout *d, size_t b, size_t h, size_t n)
{
    const struct lane lane = {0, 1, NULL, isa};
    real *mask = pool_real(pool, n);
    dropout_mask(&lane, mask, d, b, h, 0, n);
    return mask;
}

Test(dropout, mask_is_what_the_counters_say)
{
    static const double rates[] = {0, 0.1, 0.5, 0.999};
    for (size_t k = 0; k < 4 * ((size_t)support_isa() + 1); k++) {
        const enum isa isa = (enum isa)(k / 4);
        struct pool pool = {0};
        const struct dropout d = some_dropout(rates[k % 4]);
        const real *mask = mask_of(&pool, isa, &d, 5, 6, 4099);
        struct rng_site site = d.site;
        site.row = 4 + 5; /* numbered over the whole step */
        site.head = 6;
        size_t wrong = 0, moved = 0;
        for (uint32_t i = 0; i < 4099; i++) {
            const real keep = (real)(1 / (1 - rates[k % 4]));
            wrong += mask[i] != (rng_bits(&site, i) / 0x1p32 < rates[k % 4] ? 0 : keep);
            moved += mask[i] != (rng_bits(&site, i + 1) / 0x1p32 < rates[k % 4] ? 0 : keep);
        }
        cr_assert(wrong == 0, "p %g, %s: %zu positions differ", rates[k % 4], isa_name(isa), wrong);
        cr_assert(rates[k % 4] == 0 || moved > 0, "the harness misses a position moved by one");
        pool_free(&pool);
    }
}

Test(dropout, mask_does_not_depend_on_how_calls_are_split)
{
    const size_t n = 97;
    struct pool pool = {0};
    const struct dropout d = some_dropout(0.4);
    const real *whole = mask_of(&pool, support_isa(), &d, 1, 2, n);
    for (size_t piece = 1; piece <= 17; piece++)
        for (size_t start = 0; start < 5; start++) {
            real *pieces = pool_real(&pool, n);
            dropout_mask(&lane_alone, pieces, &d, 1, 2, 0, start);
            for (size_t i = start; i < n; i += piece)
                dropout_mask(&lane_alone, pieces + i, &d, 1, 2, i, n - i < piece ? n - i : piece);
            cr_assert(memcmp(pieces, whole, n * sizeof *whole) == 0, "pieces of %zu from %zu", piece, start);
        }
    pool_free(&pool);
}

Test(dropout, drops_at_its_rate_and_keeps_the_mean)
{
    static const double rates[] = {0.05, 0.2, 0.5, 0.9};
    enum { N = 200000 };
    for (size_t k = 0; k < 4; k++) {
        struct pool pool = {0};
        const double p = rates[k];
        const struct dropout d = some_dropout(p);
        const real *mask = mask_of(&pool, support_isa(), &d, 0, 0, N);
        double dropped = 0, sum = 0, both = 0;
        for (size_t i = 0; i < N; i++) {
            dropped += mask[i] == 0;
            sum += (double)mask[i];
            both += i > 0 && mask[i] == 0 && mask[i - 1] == 0;
        }
        /* five standard errors */
        cr_assert(fabs(dropped / N - p) < 5 * sqrt(p * (1 - p) / N), "p %g: rate %g", p, dropped / N);
        cr_assert(fabs(sum / N - 1) < 5 * sqrt(p / (1 - p) / N), "p %g: mean %g", p, sum / N);
        cr_assert(fabs(both / N - p * p) < 10 * sqrt(p * p * (1 - p * p) / N), "p %g: neighbours %g", p, both / N);
        cr_assert(fabs(dropped / N - (p + 0.02)) > 5 * sqrt(p * (1 - p) / N), "the harness misses a rate off by 0.02");
        pool_free(&pool);
    }
}

Test(dropout, every_part_of_the_site_gives_another_mask)
{
    enum { N = 512 };
    struct pool pool = {0};
    const struct dropout base = some_dropout(0.5);
    struct dropout others[6];
    for (size_t k = 0; k < 6; k++)
        others[k] = base;
    others[0].site.seed++;
    others[1].site.step++;
    others[2].site.layer++;
    others[3].site.purpose = RNG_DROP_MLP;
    others[4].first_row++;
    const real *mask = mask_of(&pool, support_isa(), &base, 1, 1, N);
    for (size_t k = 0; k < 6; k++) {
        const real *other =
            mask_of(&pool, support_isa(), &others[k], 1, k == 5 ? 2 : 1, N); /* the last: another head */
        double same = 0;
        for (size_t i = 0; i < N; i++)
            same += mask[i] == other[i];
        cr_assert(fabs(same / N - 0.5) < 5 * 0.5 / sqrt(N), "variation %zu agrees in %g", k, same / N);
    }
    pool_free(&pool);
}

Test(dropout, rows_of_later_micro_batches_are_rows_of_the_step)
{
    enum { N = 100 };
    struct pool pool = {0};
    struct dropout first = some_dropout(0.5), second = first;
    second.first_row = first.first_row + 3;
    cr_assert(memcmp(mask_of(&pool, support_isa(), &first, 3, 0, N), mask_of(&pool, support_isa(), &second, 0, 0, N),
                     N * sizeof(real)) == 0);
    pool_free(&pool);
}

struct call {
    real *x;
    struct dropout d;
    size_t B, T, C;
};

static void work(const struct lane *lane, void *context)
{
    const struct call *c = context;
    dropout_apply(lane, c->x, &c->d, c->B, c->T, c->C);
}

Test(dropout, apply_multiplies_by_the_row_s_mask_under_every_division)
{
    /* channels around the piece of 256 that a mask is drawn in */
    static const size_t channels[] = {1, 15, 37, 255, 256, 257};
    static const size_t lengths[] = {1, 16, 17};
    for (size_t k = 0; k < 6; k++)
        for (size_t t = 0; t < 3; t++) {
            struct pool pool = {0};
            struct call c = {.d = some_dropout(0.3), .B = 2, .T = lengths[t], .C = channels[k]};
            const size_t row = c.T * c.C, n = c.B * row;
            const real *x = pool_normal(&pool, n, 1, 1);
            real *want = pool_copy(&pool, x, n);
            for (size_t b = 0; b < c.B; b++) {
                const real *mask = mask_of(&pool, support_isa(), &c.d, b, 0, row);
                for (size_t i = 0; i < row; i++)
                    want[b * row + i] *= mask[i];
            }
            for (size_t d = 0; d < DIVISIONS; d++) {
                c.x = pool_copy(&pool, x, n);
                division_run(&divisions[d], work, &c);
                for (size_t i = 0; i < n; i++)
                    cr_assert(c.x[i] == want[i], "T %zu, C %zu, division %zu, at %zu", c.T, c.C, d, i);
            }
            pool_free(&pool);
        }
}

Test(dropout, backward_drops_exactly_what_forward_dropped)
{
    struct pool pool = {0};
    const struct dropout d = some_dropout(0.3);
    const size_t B = 3, T = 7, C = 37, n = B * T * C;
    real *x = pool_real(&pool, n), *dx = pool_real(&pool, n);
    for (size_t i = 0; i < n; i++)
        x[i] = dx[i] = 1;
    dropout_apply(&lane_alone, x, &d, B, T, C);
    dropout_apply(&lane_alone, dx, &d, B, T, C);
    size_t dropped = 0;
    for (size_t i = 0; i < n; i++) {
        cr_assert(x[i] == dx[i]);
        dropped += x[i] == 0;
    }
    cr_assert(dropped > 0 && dropped < n);
    pool_free(&pool);
}

Test(dropout, of_rate_zero_touches_nothing)
{
    struct pool pool = {0};
    const struct dropout d = some_dropout(0);
    real *x = pool_normal(&pool, 100, 1, 1);
    x[3] = (real)INFINITY;
    x[4] = (real)-0.0;
    const real *before = pool_copy(&pool, x, 100);
    dropout_apply(&lane_alone, x, &d, 2, 5, 10);
    cr_assert(memcmp(x, before, 100 * sizeof *x) == 0);
    pool_free(&pool);
}

Test(dropout, refuses_a_rate_of_one, .signal = SIGABRT)
{
    real mask[1];
    const struct dropout d = some_dropout(1);
    dropout_mask(&lane_alone, mask, &d, 0, 0, 0, 1);
}
