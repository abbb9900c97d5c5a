#include <criterion/criterion.h>

#include "kernels/residual.h"
#include "support/division.h"
#include "support/oracle.h"

struct call {
    real *y;
    const real *x, *branch;
    size_t N, C;
};

static void work(const struct lane *lane, void *context)
{
    const struct call *c = context;
    residual_forward(lane, c->y, c->x, c->branch, c->N, c->C);
}

/* How many numbers differ from x + sign * branch. */
static size_t wrong(const struct call *c, const real *x, const real *branch, int sign)
{
    size_t count = 0;
    for (size_t i = 0; i < c->N * c->C; i++)
        count += c->y[i] != x[i] + (real)sign * branch[i];
    return count;
}

Test(residual, is_the_exact_sum_under_every_division)
{
    for (size_t n = 0; n < ORACLE_SIZES; n++)
        for (size_t k = 0; k < ORACLE_SIZES; k++)
            for (size_t d = 0; d < DIVISIONS; d++) {
                struct pool pool = {0};
                struct call c = {.N = oracle_sizes[n], .C = oracle_sizes[k]};
                const size_t size = c.N * c.C;
                c.x = pool_normal(&pool, size, 1, 1);
                c.branch = pool_normal(&pool, size, 2, 1);
                c.y = pool_real(&pool, size);
                division_run(&divisions[d], work, &c);
                cr_assert(wrong(&c, c.x, c.branch, 1) == 0, "N %zu, C %zu, division %zu", c.N, c.C, d);
                cr_assert(wrong(&c, c.x, c.branch, -1) == size, "the harness misses a flipped sign");
                pool_free(&pool);
            }
}

Test(residual, may_write_over_either_input)
{
    struct pool pool = {0};
    const size_t size = 7 * 17;
    const real *x = pool_normal(&pool, size, 1, 1), *branch = pool_normal(&pool, size, 2, 1);
    real *over_x = pool_copy(&pool, x, size), *over_branch = pool_copy(&pool, branch, size);
    residual_forward(&lane_alone, over_x, over_x, branch, 7, 17);
    residual_forward(&lane_alone, over_branch, x, over_branch, 7, 17);
    const struct call first = {over_x, x, branch, 7, 17}, second = {over_branch, x, branch, 7, 17};
    cr_assert(wrong(&first, x, branch, 1) == 0);
    cr_assert(wrong(&second, x, branch, 1) == 0);
    pool_free(&pool);
}
