#include "support/bf16_case.h"

#include <math.h>
#include <string.h>

#include "kernels/bf16.h"
#include "support/machine.h"
#include "support/oracle.h"

enum { MOST_ROWS = 32, PANEL = 32, MOST_PAIRS = 96, WIDE = 40 };

enum fault { NONE, NEXT_ROW, NEXT_COLUMN, PAIR_MISSING };

static const real UNTOUCHED = -77;

static bool is_there(const struct bf16_choice *kernel, enum isa needs)
{
    return kernel->run && support_isa() >= needs;
}

/* The largest error over the size of the terms; infinite where something else was written. */
static double error_of(const struct bf16_choice *kernel, enum isa needs, size_t rows, size_t cols, size_t pairs,
                       bool add, enum fault fault)
{
    static uint32_t a[MOST_ROWS * (MOST_PAIRS + 3)], b[MOST_PAIRS * PANEL];
    static real c[(MOST_ROWS + 1) * WIDE];
    const size_t stride = pairs + 3;
    struct pool pool = {0};
    const real *x = pool_normal(&pool, 2 * MOST_ROWS * stride, 1, 1), *y = pool_normal(&pool, 2 * pairs * PANEL, 2, 1),
               *before = pool_normal(&pool, (MOST_ROWS + 1) * WIDE, 3, 1);
    for (size_t i = 0; i < rows * stride; i++)
        a[i] = bf16_pair(x[2 * i], x[2 * i + 1]);
    for (size_t i = 0; i < pairs * PANEL; i++)
        b[i] = bf16_pair(y[2 * i], y[2 * i + 1]);
    for (size_t i = 0; i < (MOST_ROWS + 1) * WIDE; i++)
        c[i] = i / WIDE < rows && i % WIDE < cols ? before[i] : UNTOUCHED;
    if (needs == ISA_AMX)
        bf16_amx_begin();
    kernel->run(c, WIDE, rows, cols, add, a, stride, b, pairs);
    if (needs == ISA_AMX)
        bf16_amx_end();
    double worst = 0;
    for (size_t m = 0; m <= MOST_ROWS; m++)
        for (size_t n = 0; n < WIDE; n++) {
            const real found = c[m * WIDE + n];
            if (m >= rows || n >= cols) {
                worst = found == UNTOUCHED ? worst : (double)INFINITY;
                continue;
            }
            double sum = add ? (double)before[m * WIDE + n] : 0, size = fabs(sum) + 1e-300;
            const size_t row = fault == NEXT_ROW ? (m + 1) % rows : m, col = fault == NEXT_COLUMN ? (n + 1) % PANEL : n;
            for (size_t k = 0; k < pairs - (fault == PAIR_MISSING); k++)
                for (unsigned half = 0; half < 32; half += 16) {
                    const double term = (double)bf16_number(a[row * stride + k] >> half) *
                                        (double)bf16_number(b[k * PANEL + col] >> half);
                    sum += term;
                    size += fabs(term);
                }
            const double error = fabs((double)found - sum) / size;
            worst = error <= worst ? worst : error;
        }
    pool_free(&pool);
    return worst;
}

#define LIMIT (4 * (double)REAL_EPSILON)

void bf16_case_shapes(struct bf16_choice kernel, enum isa needs)
{
    if (!is_there(&kernel, needs))
        cr_skip("no %s here", isa_name(needs));
    static const size_t cols[] = {1, 2, 15, 16, 17, 31, 32};
    cr_assert(kernel.rows <= MOST_ROWS);
    for (size_t rows = 1; rows <= kernel.rows; rows++)
        for (size_t n = 0; n < sizeof cols / sizeof *cols; n++)
            for (size_t pairs = 16; pairs <= MOST_PAIRS; pairs += 80)
                for (int add = 0; add < 2; add++) {
                    const double e = error_of(&kernel, needs, rows, cols[n], pairs, add, NONE);
                    cr_assert(e <= LIMIT, "%zu rows, %zu columns, %zu pairs, add %d: %g", rows, cols[n], pairs, add, e);
                }
}

void bf16_case_faults(struct bf16_choice kernel, enum isa needs)
{
    if (!is_there(&kernel, needs))
        cr_skip("no %s here", isa_name(needs));
    for (int fault = NEXT_ROW; fault <= PAIR_MISSING; fault++)
        cr_assert(error_of(&kernel, needs, kernel.rows, PANEL, 32, false, (enum fault)fault) > LIMIT, "fault %d",
                  fault);
}
