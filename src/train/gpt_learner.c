#include "train/gpt_learner.h"

#include <math.h>
#include <stdlib.h>

#include "train/evaluate.h"

enum status gpt_learner_create(struct gpt_learner *l, struct error *err)
{
    const size_t N = l->work->B * l->work->T, heads = l->model->config.n_layer * l->model->config.n_head;
    l->tokens = malloc(N * sizeof *l->tokens);
    l->targets = malloc(N * sizeof *l->targets);
    l->entropy = malloc(heads * sizeof *l->entropy);
    l->max_score = malloc(heads * sizeof *l->max_score);
    if (l->tokens && l->targets && l->entropy && l->max_score)
        return STATUS_OK;
    gpt_learner_free(l);
    return fail(err, STATUS_MEMORY, "memory for a batch of %zu symbols was refused", N);
}

void gpt_learner_free(struct gpt_learner *l)
{
    free(l->tokens);
    free(l->targets);
    free(l->entropy);
    free(l->max_score);
    l->tokens = l->targets = NULL;
    l->entropy = l->max_score = NULL;
}

static double loss_and_gradient(void *self, size_t step, real *grads)
{
    struct gpt_learner *l = self;
    struct work *w = l->work;
    const size_t B = w->B, T = w->T, N = B * T;
    double loss = 0;
    for (size_t micro = 0; micro < l->grad_accum; micro++) {
        /* Row r of a step is the same window whether it comes in one batch or in several. */
        const uint32_t first_row = (uint32_t)(micro * B);
        for (size_t b = 0; b < B; b++) {
            const size_t start = dataset_draw(l->data, T, l->seed, (uint32_t)step, first_row + (uint32_t)b);
            dataset_window(l->data, l->tokens + b * T, l->targets + b * T, start, T);
        }
        const struct gpt_pass pass = {
            .training = true, .seed = l->seed, .step = (uint32_t)step, .first_row = first_row};
        gpt_forward(l->model, w, l->tokens, B, T, &pass);
        gpt_loss(l->model, w, l->targets, B, T);
        loss += gpt_mean_loss(w, N) / (double)l->grad_accum;
        gpt_loss_backward(l->model, w, l->targets, (real)(1.0 / (double)(N * l->grad_accum)), B, T);
        gpt_backward(l->model, w, l->tokens, B, T, &pass, grads);
    }
    return loss;
}

static enum status evaluate_part(void *self, enum dataset_part part, double *loss, struct error *err)
{
    struct gpt_learner *l = self;
    size_t begin, end;
    dataset_bounds(l->data, part, &begin, &end);
    struct evaluation e = {.loss = (double)NAN};
    const struct evaluate_options o = {.T = l->work->T, .max_windows = l->eval_windows};
    const enum status s = evaluate(&e, l->model, l->work, l->data, begin, end, &o, err);
    *loss = e.loss;
    return s;
}

static const struct params_table *parameters(void *self, real **values)
{
    struct gpt_learner *l = self;
    *values = l->model->params;
    return &l->model->table;
}

struct learner gpt_learner_interface(struct gpt_learner *l)
{
    return (struct learner){l, loss_and_gradient, evaluate_part, parameters};
}

void gpt_learner_attention(struct gpt_learner *l)
{
    gpt_attention_summary(l->entropy, l->max_score, l->model, l->work, l->work->B, l->work->T);
}
