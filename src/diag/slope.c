#include "diag/slope.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/noise.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-4
#define LOSS_STEP 1e-5
#else
#define NEAR 0.05
#define LOSS_STEP 4e-3
#endif

struct job {
    const struct gpt *g;
    struct work *w;
    const uint32_t *tokens, *targets;
    size_t T;
    double rounding; /* what rounding does to the loss */
    real *kept;      /* (size of the largest tensor) */
};

static double loss_of(const struct job *j)
{
    gpt_forward(j->g, j->w, j->tokens, 1, j->T, &gpt_quiet);
    gpt_loss(j->g, j->w, j->targets, 1, j->T);
    return gpt_mean_loss(j->w, j->T);
}

/* Slope of the loss along `gradient`, by differences over steps +-h and +-h/2, extrapolated; *doubt is how far the two
 * estimates lie apart, and what rounding does. x (n) are the parameters. */
static double measured_slope(const struct job *j, real *x, const real *gradient, size_t n, double h, double *doubt)
{
    double slope[2];
    memcpy(j->kept, x, n * sizeof *x);
    for (int half = 0; half < 2; half++) {
        const double step = half ? h / 2 : h;
        double loss[2];
        for (int side = 0; side < 2; side++) {
            for (size_t k = 0; k < n; k++)
                x[k] = (real)((double)j->kept[k] + (side ? -step : step) * (double)gradient[k]);
            loss[side] = loss_of(j);
        }
        slope[half] = (loss[0] - loss[1]) / (2 * step);
    }
    memcpy(x, j->kept, n * sizeof *x);
    *doubt = fabs(slope[0] - slope[1]) + 4 * j->rounding / h;
    return (4 * slope[1] - slope[0]) / 3;
}

/* One tensor. False when there is nothing to measure: no gradient to speak of. */
static bool compare(const struct job *j, const struct params_tensor *p, const real *grads, double least, double *off)
{
    const real *g = grads + p->offset;
    const size_t n = p->rows * p->cols;
    double squares = 0;
    for (size_t k = 0; k < n; k++)
        squares += (double)g[k] * (double)g[k];
    if (!(squares > least))
        return false;
    double doubt;
    /* a step that changes the loss by about LOSS_STEP, were it straight */
    const double slope = measured_slope(j, j->g->params + p->offset, g, n, LOSS_STEP / squares, &doubt);
    *off = (fabs(slope - squares) - doubt) / squares;
    return true;
}

static enum status run(struct verdict *v, const struct job *j, real *grads, struct error *err)
{
    const struct params_table *table = &j->g->table;
    memset(grads, 0, table->size * sizeof *grads);
    const double loss = loss_of(j);
    if (!isfinite(loss))
        return fail(err, STATUS_NONFINITE, "check: the loss is not finite: the weights are spoiled");
    gpt_loss_backward(j->g, j->w, j->targets, (real)(1 / (double)j->T), 1, j->T);
    gpt_backward(j->g, j->w, j->tokens, 1, j->T, &gpt_quiet, grads);
    double all = 0, worst = 0;
    for (size_t k = 0; k < table->size; k++)
        all += (double)grads[k] * (double)grads[k];
    size_t measured = 0, wrong = 0;
    for (size_t k = 0; k < table->count; k++) {
        double off;
        if (!table->tensor[k].present || !compare(j, &table->tensor[k], grads, 1e-6 * all, &off))
            continue;
        measured++;
        worst = off > worst ? off : worst;
        if (!(off > NEAR))
            continue;
        wrong++;
        struct verdict_finding *f = verdict_find(v, "slope", "the gradient of %s is off by %.0f %% of its size",
                                                 table->tensor[k].name, 100 * off);
        f->backward = true;
        snprintf(f->operation, sizeof f->operation, "gradient");
        const enum params_kind kind = table->tensor[k].kind;
        f->layer = kind >= PARAMS_LN1_GAIN && kind <= PARAMS_FC_OUT_BIAS ? table->tensor[k].layer : VERDICT_NOWHERE;
    }
    verdict_say(v, "slope", wrong ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                wrong ? "of %zu tensors some have gradients that are not the slope of the loss (worst %.2g %%)"
                      : "the gradients of %zu tensors are the slope of the loss (beyond rounding, worst %.2g %%)",
                measured, 100 * worst);
    return STATUS_OK;
}

enum status slope_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens,
                        const uint32_t *targets, size_t T, uint64_t seed, struct error *err)
{
    size_t largest = 0;
    for (size_t k = 0; k < g->table.count; k++) {
        const size_t n = g->table.tensor[k].rows * g->table.tensor[k].cols;
        largest = n > largest ? n : largest;
    }
    struct job j = {.g = g, .w = w, .tokens = tokens, .targets = targets, .T = T};
    j.kept = malloc(largest * sizeof *j.kept);
    real *grads = malloc(g->table.size * sizeof *grads);
    struct noise noise;
    enum status s = j.kept && grads ? noise_measure(&noise, g, w, tokens, targets, 1, T, seed, err)
                                    : fail(err, STATUS_MEMORY, "check: memory for a set of gradients was refused");
    if (!s) {
        j.rounding = noise.loss;
        s = run(v, &j, grads, err);
    }
    free(j.kept);
    free(grads);
    return s;
}
