#include "diag/ablation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean loss of each window: losses (n). */
static void measure(double *losses, const struct gpt *g, struct work *w, const struct ablation_windows *in)
{
    const size_t T = in->T;
    for (size_t row = 0; row < in->n;) {
        const size_t B = in->n - row < w->B ? in->n - row : w->B;
        gpt_forward(g, w, in->tokens + row * T, B, T, &gpt_quiet);
        gpt_loss(g, w, in->targets + row * T, B, T);
        for (size_t b = 0; b < B; b++) {
            double sum = 0;
            for (size_t t = 0; t < T; t++)
                sum += (double)w->loss[b * T + t];
            losses[row + b] = sum / (double)T;
        }
        row += B;
    }
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* Paired: window by window against the whole model, so that what makes a window hard counts on both sides. */
static struct ablation_head compare(const double *without, const double *whole, size_t n)
{
    struct ablation_head h = {.loss = mean_of(without, n), .error = (double)NAN};
    h.more = h.loss - mean_of(whole, n);
    if (n < 2)
        return h;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = without[i] - whole[i] - h.more;
        squares += off * off;
    }
    h.error = sqrt(squares / (double)(n - 1) / (double)n);
    return h;
}

static bool asks_to_stop(ablation_stop *stop, void *context, size_t done, size_t passes)
{
    return stop && stop(context, done, passes);
}

/* scratch: 2 n losses. kept: hs C weights. */
static enum status measure_all(struct ablation *a, struct gpt *g, struct work *w, const struct ablation_windows *in,
                               double *scratch, real *kept, ablation_stop *stop, void *context, struct error *err)
{
    const struct config *c = &g->config;
    const size_t passes = c->n_layer * c->n_head + 1, size = c->head_size * c->n_embd;
    double *whole = scratch, *without = scratch + in->n;
    measure(whole, g, w, in);
    a->loss = mean_of(whole, in->n);
    if (!isfinite(a->loss))
        return fail(err, STATUS_NONFINITE,
                    "the loss is not finite: the weights are spoiled, use an earlier checkpoint");
    for (size_t k = 0; k + 1 < passes; k++) {
        if (asks_to_stop(stop, context, k + 1, passes))
            return fail(err, STATUS_INTERRUPTED, "interrupted");
        const size_t layer = k / c->n_head, head = k % c->n_head;
        real *rows = g->params + params_find(&g->table, PARAMS_PROJ, layer)->offset + head * size;
        memcpy(kept, rows, size * sizeof *kept);
        memset(rows, 0, size * sizeof *rows);
        measure(without, g, w, in);
        memcpy(rows, kept, size * sizeof *rows);
        a->head[k] = compare(without, whole, in->n);
        if (!isfinite(a->head[k].loss))
            return fail(err, STATUS_NONFINITE, "the loss without layer %zu head %zu is not finite", layer, head);
    }
    return STATUS_OK;
}

enum status ablation_measure(struct ablation *a, struct gpt *g, struct work *w, const struct ablation_windows *windows,
                             ablation_stop *stop, void *context, struct error *err)
{
    assert(windows->n > 0 && windows->T > 0 && windows->T <= w->T);
    const struct config *c = &g->config;
    *a = (struct ablation){.head = calloc(c->n_layer * c->n_head, sizeof *a->head)};
    double *scratch = calloc(2 * windows->n, sizeof *scratch);
    real *kept = calloc(c->head_size * c->n_embd, sizeof *kept);
    enum status s = a->head && scratch && kept
                        ? measure_all(a, g, w, windows, scratch, kept, stop, context, err)
                        : fail(err, STATUS_MEMORY, "memory for the losses of %zu windows was refused", windows->n);
    free(scratch);
    free(kept);
    if (s)
        ablation_free(a);
    return s;
}

void ablation_free(struct ablation *a)
{
    free(a->head);
    *a = (struct ablation){0};
}
