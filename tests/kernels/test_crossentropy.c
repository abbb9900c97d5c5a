#include <criterion/criterion.h>
#include <math.h>

#include "kernels/crossentropy.h"
#include "support/division.h"
#include "support/oracle.h"

#define LIMIT (12 * (double)REAL_EPSILON)

enum fault { NONE, FLIPPED_SIGN, TARGET_SHIFTED, LAST_SYMBOL_MISSING, FAULTS };

struct call {
    size_t N, V;
    enum fault fault;
    const uint32_t *targets;
    real *loss, *logits, scale;
    double *wide, *want;
};

static void oracle_forward(struct call *c)
{
    for (size_t n = 0; n < c->N; n++) {
        const double *row = c->wide + n * c->V;
        const size_t seen = c->V - (c->fault == LAST_SYMBOL_MISSING && c->V > 1);
        double m = -INFINITY, l = 0;
        for (size_t v = 0; v < seen; v++)
            m = fmax(m, row[v]);
        for (size_t v = 0; v < seen; v++)
            l += exp(row[v] - m);
        const double target = row[(c->targets[n] + (c->fault == TARGET_SHIFTED)) % c->V];
        c->want[n] = (m + (c->fault == FLIPPED_SIGN ? target : -target)) + log(l);
    }
}

static double oracle_loss(void *context)
{
    struct call *c = context;
    double sum = 0;
    oracle_forward(c);
    for (size_t n = 0; n < c->N; n++)
        sum += (double)c->scale * c->want[n];
    return sum;
}

static void forward(const struct lane *lane, void *context)
{
    const struct call *c = context;
    crossentropy_forward(lane, c->loss, c->logits, c->targets, c->N, c->V);
}

static void backward(const struct lane *lane, void *context)
{
    const struct call *c = context;
    crossentropy_backward(lane, c->logits, c->targets, c->scale, c->N, c->V);
}

struct errors {
    double loss, slope, sum;
};

/* `center` + `spread` * normal numbers; `slopes` also compares the gradient with finite differences. */
static struct errors entropy_errors(size_t N, size_t V, double center, double spread, bool slopes, enum fault fault)
{
    struct pool pool = {0};
    struct call c = {.N = N, .V = V, .fault = fault, .scale = (real)(1 / (double)(N + 2))};
    c.targets = pool_ids(&pool, N, 1, (uint32_t)V);
    real *logits = pool_normal(&pool, N * V, 2, spread);
    for (size_t i = 0; i < N * V; i++)
        logits[i] = (real)(center + (double)logits[i]);
    c.wide = pool_widen(&pool, logits, N * V);
    c.want = pool_double(&pool, N);
    double *slope = pool_double(&pool, N * V);
    if (slopes)
        oracle_slopes(slope, c.wide, N * V, oracle_loss, &c);
    oracle_forward(&c);
    struct errors worst = {0};
    for (size_t d = 0; d < DIVISIONS; d++) {
        c.logits = pool_copy(&pool, logits, N * V);
        c.loss = pool_real(&pool, N);
        division_run(&divisions[d], forward, &c);
        /* A loss is as large as its row's distance from maximum to target, and ln V. */
        for (size_t n = 0; n < N; n++)
            worst.loss =
                fmax(worst.loss, oracle_error_over(&c.loss[n], &c.want[n], 1, 1 + log((double)V) + fabs(c.want[n])));
        for (size_t n = 0; n < N; n++) {
            double sum = 0;
            for (size_t v = 0; v < V; v++)
                sum += (double)c.logits[n * V + v];
            worst.sum = fmax(worst.sum, fabs(sum - 1));
        }
        division_run(&divisions[d], backward, &c);
        if (slopes)
            worst.slope = fmax(worst.slope, oracle_error_over(c.logits, slope, N * V, (double)c.scale));
    }
    pool_free(&pool);
    return worst;
}

Test(crossentropy, loss_and_gradient_match_the_oracle_under_every_division)
{
    static const size_t rows[] = {1, 7, 17};
    for (size_t n = 0; n < 3; n++)
        for (size_t v = 0; v < ORACLE_SIZES; v++) {
            const struct errors e = entropy_errors(rows[n], oracle_sizes[v], 0, 2, true, NONE);
            cr_assert(e.loss <= LIMIT && e.slope <= ORACLE_SLOPE_LIMIT && e.sum <= 1e-6,
                      "N %zu, V %zu: loss %.3g, gradient %.3g, sum %.3g", rows[n], oracle_sizes[v], e.loss, e.slope,
                      e.sum);
        }
}

Test(crossentropy, large_logits_cost_no_digits_of_the_loss)
{
    /* around +-1e4 with small differences, the loss is as exact as around 0: all digits of ln V stay */
    static const double shapes[][2] = {{1e4, 0}, {1e4, 0.5}, {-1e4, 0.5}, {0, 1e4}, {1e4, 100}, {-100, 3}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t v = 0; v < ORACLE_SIZES; v++) {
            const struct errors e = entropy_errors(7, oracle_sizes[v], shapes[k][0], shapes[k][1], false, NONE);
            cr_assert(e.loss <= LIMIT && e.sum <= 1e-6, "V %zu, logits %g +- %g: loss %.3g, sum %.3g", oracle_sizes[v],
                      shapes[k][0], shapes[k][1], e.loss, e.sum);
        }
}

Test(crossentropy, of_one_symbol_is_zero_with_no_gradient)
{
    static const double values[] = {0, 1e4, -1e4};
    for (size_t k = 0; k < 3; k++) {
        real logit = (real)values[k], loss = 1;
        const uint32_t target = 0;
        crossentropy_forward(&lane_alone, &loss, &logit, &target, 1, 1);
        cr_assert(loss == 0 && logit == 1);
        crossentropy_backward(&lane_alone, &logit, &target, 1, 1, 1);
        cr_assert(logit == 0);
    }
}

Test(crossentropy, works_over_sixty_five_thousand_symbols)
{
    /* Sums this long round off some dozen epsilons, in the oracle's own as well. */
    const double limit = 64 * (double)REAL_EPSILON;
    const struct errors flat = entropy_errors(2, 65536, 0, 0, false, NONE);
    const struct errors rough = entropy_errors(2, 65536, 1e4, 5, false, NONE);
    cr_assert(flat.loss <= limit && flat.sum <= 1e-5, "equal logits: loss %.3g, sum %.3g", flat.loss, flat.sum);
    cr_assert(rough.loss <= limit && rough.sum <= 1e-5, "loss %.3g, sum %.3g", rough.loss, rough.sum);
}

Test(crossentropy, harness_catches_planted_faults)
{
    for (int fault = NONE + 1; fault < FAULTS; fault++) {
        const struct errors e = entropy_errors(7, 5, 0, 2, true, (enum fault)fault);
        cr_assert(e.loss > LIMIT, "fault %d passes unseen in the loss", fault);
        cr_assert(e.slope > ORACLE_SLOPE_LIMIT, "fault %d passes unseen in the gradient", fault);
    }
}

Test(crossentropy, nan_and_infinity_are_heard_of_in_their_own_row)
{
    real logits[3 * 17], loss[3];
    uint32_t targets[3] = {0, 0, 0};
    for (size_t i = 0; i < 3 * 17; i++)
        logits[i] = 1;
    logits[17 + 16] = (real)NAN;
    logits[2 * 17] = -(real)INFINITY; /* the target is impossible */
    crossentropy_forward(&lane_alone, loss, logits, targets, 3, 17);
    cr_assert(isfinite(loss[0]) && isnan(loss[1]) && loss[2] == (real)INFINITY);
}
