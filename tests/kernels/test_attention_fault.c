#include "kernels/attention_fault.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/attention_ref.h"
#include "support/attention_case.h"

enum { T = 9, H = 2, HS = 4 };

/* A case of two causal heads with a fault in one of them, or in both. */
static void make(struct attention_case *c, enum attention_fault fault, size_t head, double scores)
{
    const struct attention_sizes sizes = {1, H, H, HS, T, T};
    attention_case_init(c, &sizes, ATTENTION_DENSE, scores, false, 0);
    for (size_t h = 0; h < H; h++)
        c->rules[h] = ATTENTION_CAUSAL;
    c->shape.fault = fault;
    c->shape.fault_head = head;
}

static real *scratch_of(struct attention_case *c)
{
    return pool_real(&c->pool, attention_ref_scratch(&c->shape));
}

static void forward(struct attention_case *c, real *scratch)
{
    attention_ref_forward(&lane_alone, c->y, &c->rows, c->weights, c->q, c->k, c->v, &c->shape, NULL, scratch);
}

/* Which keys and values each query of a head takes notice of: seen[i][j]. */
static void look(bool seen[T][T], struct attention_case *c, size_t h)
{
    real *scratch = scratch_of(c), *before = pool_real(&c->pool, T * H * HS);
    forward(c, scratch);
    memcpy(before, c->y, T * H * HS * sizeof *before);
    for (size_t j = 0; j < T; j++) {
        real *const k = c->k + (j * H + h) * HS, *const v = c->v + (j * H + h) * HS;
        const real old_k = *k, old_v = *v;
        *k += 2;
        *v += 2;
        forward(c, scratch);
        for (size_t i = 0; i < T; i++)
            seen[i][j] = memcmp(before + (i * H + h) * HS, c->y + (i * H + h) * HS, HS * sizeof *before) != 0;
        *k = old_k;
        *v = old_v;
    }
}

static bool sees(enum attention_fault fault, size_t i, size_t j)
{
    switch (fault) {
    case ATTENTION_FAULT_TRANSPOSED:
        return j >= i;
    case ATTENTION_FAULT_ONE_AHEAD:
        return j <= i + 1;
    case ATTENTION_FAULT_NOT_ITSELF:
        return j < i;
    case ATTENTION_FAULT_NO_MASK:
    case ATTENTION_FAULT_FORWARD_UNMASKED:
    case ATTENTION_FAULT_AFTER_SOFTMAX: /* by the sum that it divides by */
        return true;
    default:
        return j <= i;
    }
}

Test(attention_fault, each_sees_what_its_name_says_in_the_head_it_is_planted_in)
{
    /* Renormalised weights and finite masks are right up to rounding while scores are small: below. */
    const enum attention_fault all[] = {
        ATTENTION_FAULT_NONE,      ATTENTION_FAULT_NO_MASK,          ATTENTION_FAULT_TRANSPOSED,
        ATTENTION_FAULT_ONE_AHEAD, ATTENTION_FAULT_NOT_ITSELF,       ATTENTION_FAULT_AFTER_SOFTMAX,
        ATTENTION_FAULT_MINUS_1E9, ATTENTION_FAULT_FORWARD_UNMASKED, ATTENTION_FAULT_BACKWARD_UNMASKED};
    for (size_t f = 0; f < sizeof all / sizeof *all; f++) {
        struct attention_case c;
        make(&c, all[f], 1, 1);
        for (size_t h = 0; h < H; h++) {
            bool seen[T][T];
            look(seen, &c, h);
            for (size_t i = 0; i < T; i++)
                for (size_t j = 0; j < T; j++)
                    cr_expect_eq(seen[i][j], sees(h == 1 ? all[f] : ATTENTION_FAULT_NONE, i, j),
                                 "fault %zu, head %zu, query %zu, key %zu", f, h, i, j);
        }
        attention_case_free(&c);
    }
}

Test(attention_fault, finite_masks_hold_until_scores_are_large)
{
    const struct {
        enum attention_fault fault;
        double holds, breaks;
    } all[] = {{ATTENTION_FAULT_MINUS_1E4, 100, 1e6}, {ATTENTION_FAULT_MINUS_1E9, 1e6, 1e12}};
    for (size_t f = 0; f < 2; f++)
        for (int large = 0; large < 2; large++) {
            struct attention_case c;
            make(&c, all[f].fault, ATTENTION_EVERY_HEAD, large ? all[f].breaks : all[f].holds);
            bool seen[T][T], future = false;
            look(seen, &c, 0);
            for (size_t i = 0; i < T; i++)
                for (size_t j = i + 1; j < T; j++)
                    future |= seen[i][j];
            cr_expect_eq(future, (bool)large, "fault %zu, %s scores", f, large ? "large" : "small");
            attention_case_free(&c);
        }
}

static double loss_of(struct attention_case *c, real *scratch)
{
    double sum = 0;
    forward(c, scratch);
    for (size_t k = 0; k < T * H * HS; k++)
        sum += (double)c->y[k] * (double)c->dy[k];
    return sum;
}

/* Central differences against the backward pass: the largest error of dq, dk and dv over the largest gradient. */
static double slope_error(enum attention_fault fault)
{
    struct attention_case c;
    make(&c, fault, ATTENTION_EVERY_HEAD, 1);
    real *scratch = scratch_of(&c);
    forward(&c, scratch);
    attention_ref_backward(&lane_alone, c.dq, c.dk, c.dv, c.dy, c.weights, c.q, c.k, c.v, &c.shape, NULL, scratch);
    real *const x[] = {c.q, c.k, c.v}, *const g[] = {c.dq, c.dk, c.dv};
    const double step = sizeof(real) == sizeof(double) ? 1e-5 : 1e-2;
    double error = 0, largest = 0;
    for (size_t n = 0; n < 3; n++)
        for (size_t k = 0; k < T * H * HS; k++) {
            const real old = x[n][k];
            x[n][k] = (real)((double)old + step);
            const double up = loss_of(&c, scratch), above = (double)x[n][k];
            x[n][k] = (real)((double)old - step);
            const double down = loss_of(&c, scratch), below = (double)x[n][k];
            x[n][k] = old;
            error = fmax(error, fabs((up - down) / (above - below) - (double)g[n][k]));
            largest = fmax(largest, fabs((double)g[n][k]));
        }
    attention_case_free(&c);
    return error / largest;
}

/* A mistake that people make in the forward pass is differentiated as it stands, as their framework would. */
Test(attention_fault, backward_is_the_derivative_unless_that_is_the_fault)
{
    const double limit = sizeof(real) == sizeof(double) ? 1e-8 : 1e-2;
    for (int fault = ATTENTION_FAULT_NONE; fault <= ATTENTION_FAULT_BACKWARD_UNMASKED; fault++) {
        const double error = slope_error((enum attention_fault)fault);
        if (fault == ATTENTION_FAULT_FORWARD_UNMASKED || fault == ATTENTION_FAULT_BACKWARD_UNMASKED)
            cr_expect_gt(error, 0.02, "fault %d: %g", fault, error);
        else
            cr_expect_lt(error, limit, "fault %d: %g", fault, error);
    }
}

Test(attention_fault, a_mask_missing_in_the_backward_pass_alone_reaches_later_keys)
{
    struct attention_case c;
    make(&c, ATTENTION_FAULT_BACKWARD_UNMASKED, 0, 1);
    real *scratch = scratch_of(&c);
    forward(&c, scratch);
    memset(c.dy + H * HS, 0, (T - 1) * H * HS * sizeof(real)); /* from the first query alone */
    attention_ref_backward(&lane_alone, c.dq, c.dk, c.dv, c.dy, c.weights, c.q, c.k, c.v, &c.shape, NULL, scratch);
    for (size_t j = 1; j < T; j++)
        for (size_t h = 0; h < H; h++)
            cr_expect_eq(c.dk[(j * H + h) * HS] != 0, h == 0, "key %zu, head %zu", j, h);
    attention_case_free(&c);
}
