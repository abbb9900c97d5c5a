#include "diag/lossgrad.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-9
#else
#define NEAR 1e-4
#endif

static double log_sum_exp(const real *x, size_t n)
{
    double m = -INFINITY, sum = 0;
    for (size_t k = 0; k < n; k++)
        m = fmax(m, (double)x[k]);
    for (size_t k = 0; k < n; k++)
        sum += exp((double)x[k] - m);
    return m + log(sum);
}

static void find(struct verdict *v, const char *what)
{
    struct verdict_finding *f = verdict_find(v, "loss", "%s", what);
    snprintf(f->operation, sizeof f->operation, "loss");
}

enum status lossgrad_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens,
                           const uint32_t *targets, struct error *err)
{
    const size_t N = w->B * w->T, V = g->config.vocab_size;
    const double scale = 1 / (double)N;
    real *logits = malloc(N * V * sizeof *logits);
    if (!logits)
        return fail(err, STATUS_MEMORY, "check: memory for a second set of logits was refused");
    gpt_forward(g, w, tokens, w->B, w->T, &gpt_evaluating);
    memcpy(logits, w->logits, N * V * sizeof *logits);
    gpt_loss(g, w, targets, w->B, w->T);
    bool loss = true, gradient = true;
    for (size_t n = 0; n < N; n++) {
        const double right = log_sum_exp(logits + n * V, V) - (double)logits[n * V + targets[n]];
        loss &=
            fabs((double)w->loss[n] - right) <= NEAR * fmax(1, fabs(right) + fabs((double)logits[n * V + targets[n]]));
    }
    gpt_loss_backward(g, w, targets, (real)scale, w->B, w->T);
    for (size_t n = 0; n < N; n++) {
        const double lse = log_sum_exp(logits + n * V, V);
        for (size_t k = 0; k < V; k++) {
            const double right = (exp((double)logits[n * V + k] - lse) - (k == targets[n])) * scale;
            gradient &= fabs((double)w->logits[n * V + k] - right) <= NEAR * scale * (1 + NEAR * fabs(lse));
        }
    }
    free(logits);
    verdict_say(v, "loss", loss && gradient ? VERDICT_CLEAN : VERDICT_FOUND, 0,
                loss && gradient ? "%zu losses and their gradients are the cross-entropy of their targets"
                                 : "of %zu losses and gradients not all are the cross-entropy of their targets",
                N);
    if (!loss)
        find(v, "the loss is not the cross-entropy of the targets");
    if (!gradient)
        find(v, "the gradient of the loss is not probabilities less one at the target");
    return STATUS_OK;
}
