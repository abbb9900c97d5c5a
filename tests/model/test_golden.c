/* The whole model against an independent GPT-2 in float64 PyTorch (scripts/make_golden.py): logits, losses, statistics
 * of attention, every gradient, and the weights after twenty steps of AdamW with clipping and a schedule.
 *
 * Errors are relative to the largest number of a tensor. A gradient tensor that is small beside the model's largest
 * gradient is judged by a thousandth of that. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/safetensors.h"
#include "model/gpt.h"
#include "model/optimizer.h"
#include "support/machine.h"

#ifdef NOPEEK_DOUBLE
#define TOLERANCE 1e-9
#else
#define TOLERANCE 1e-5
#endif

static const char *const CASES[] = {"bias-tied", "plain-tied", "bias-untied", "plain-untied",
                                    "sharp",     "wide",       "smallest"};

struct golden {
    const char *name;
    struct safetensors file;
    size_t B, T, steps;
    double beta1, beta2, decay, clip;
    struct gpt model;
    struct work work;
    struct optimizer optimizer;
    struct arena arena;         /* the optimizer's */
    uint32_t *tokens, *targets; /* (steps,B,T) */
};

static double setting(const json_t *metadata, const char *key)
{
    const char *text = json_string_value(json_object_get(metadata, key));
    cr_assert(text, "metadata lacks %s", key);
    return strtod(text, NULL);
}

static const struct safetensors_entry *entry(const struct golden *g, const char *prefix, const char *name)
{
    char full[2 * PARAMS_NAME_SIZE];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct safetensors_entry *e = safetensors_find(&g->file, full);
    cr_assert(e, "%s has no tensor %s", g->name, full);
    return e;
}

/* A tensor of the file, in double whatever `real` is. */
static double *numbers(const struct golden *g, const char *prefix, const char *name, size_t count)
{
    const struct safetensors_entry *e = entry(g, prefix, name);
    cr_assert(e->type == SAFETENSORS_F64 && e->count == count, "%s: %s%s has %zu numbers, not %zu", g->name, prefix,
              name, e->count, count);
    double *x = malloc(count * sizeof *x);
    struct error err;
    cr_assert_eq(file_read(&g->file.file, x, count * sizeof *x, e->begin, &err), STATUS_OK, "%s", err.message);
    return x;
}

static uint32_t *ids(const struct golden *g, const char *name, size_t count)
{
    const struct safetensors_entry *e = entry(g, "", name);
    cr_assert(e->type == SAFETENSORS_I64 && e->count == count);
    uint32_t *x = malloc(count * sizeof *x);
    for (size_t i = 0; i < count; i++) {
        int64_t id;
        struct error err;
        cr_assert_eq(file_read(&g->file.file, &id, sizeof id, e->begin + i * sizeof id, &err), STATUS_OK, "%s",
                     err.message);
        cr_assert(id >= 0 && (uint64_t)id < g->model.config.vocab_size);
        x[i] = (uint32_t)id;
    }
    return x;
}

static void golden_open(struct golden *g, const char *name)
{
    struct error err;
    char path[4096];
    *g = (struct golden){.name = name};
    snprintf(path, sizeof path, "%s/tests/golden/%s.safetensors", NOPEEK_SOURCE, name);
    cr_assert_eq(safetensors_open(&g->file, path, &err), STATUS_OK, "%s", err.message);
    json_t *j = json_loads(g->file.metadata, 0, NULL);
    struct config c =
        config_make((size_t)setting(j, "n_layer"), (size_t)setting(j, "n_head"), (size_t)setting(j, "n_embd"),
                    (size_t)setting(j, "block_size"), (size_t)setting(j, "vocab_size"));
    c.bias = setting(j, "bias") != 0;
    c.tied = setting(j, "tied") != 0;
    g->B = (size_t)setting(j, "batch");
    g->T = (size_t)setting(j, "length");
    g->steps = (size_t)setting(j, "steps");
    g->beta1 = setting(j, "beta1");
    g->beta2 = setting(j, "beta2");
    cr_assert_eq(setting(j, "epsilon"), 1e-8);
    g->decay = setting(j, "decay");
    g->clip = setting(j, "clip");
    json_decref(j);
    cr_assert_eq(g->steps, 20);
    cr_assert_eq(gpt_create(&g->model, &c, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(work_create(&g->work, &c, g->B, g->T, true, support_team(1), &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < g->model.table.count; i++) {
        const struct params_tensor *p = &g->model.table.tensor[i];
        if (p->present)
            cr_assert_eq(safetensors_read(g->model.params + p->offset, &g->file, entry(g, "init.", p->name), &err),
                         STATUS_OK, "%s", err.message);
    }
    g->tokens = ids(g, "tokens", g->steps * g->B * g->T);
    g->targets = ids(g, "targets", g->steps * g->B * g->T);
    optimizer_layout(&g->optimizer, &g->arena, g->model.table.size);
    cr_assert_eq(arena_place(&g->arena, &err), STATUS_OK, "%s", err.message);
    optimizer_layout(&g->optimizer, &g->arena, g->model.table.size);
}

static void golden_close(struct golden *g)
{
    arena_free(&g->arena);
    free(g->targets);
    free(g->tokens);
    work_free(&g->work);
    gpt_free(&g->model);
    safetensors_close(&g->file);
}

/* The largest difference of n numbers, relative to the largest golden one or to `least` if that is larger. */
static double distance(const real *got, const double *want, size_t n, double least)
{
    double unit = least, error = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = fabs((double)got[i] - want[i]);
        unit = fabs(want[i]) > unit ? fabs(want[i]) : unit;
        if (!(off <= error)) /* NaN is kept */
            error = off;
    }
    return error == 0 ? 0 : error / unit;
}

static void expect_near(const struct golden *g, const char *what, const real *got, const double *want, size_t n,
                        double least)
{
    const double error = distance(got, want, n, least);
    cr_expect(error <= TOLERANCE, "%s: %s is off by %.3g of its size, more than %.0e", g->name, what, error, TOLERANCE);
}

static void expect_tensor(const struct golden *g, const char *what, const real *got, size_t count)
{
    double *want = numbers(g, "", what, count);
    expect_near(g, what, got, want, count, 0);
    free(want);
}

/* Leaves logits as probabilities, then as gradients, as a training step does. */
static double step_loss(struct golden *g, size_t step)
{
    const size_t n = g->B * g->T;
    gpt_forward(&g->model, &g->work, g->tokens + step * n, g->B, g->T, &gpt_evaluating);
    if (step == 0)
        expect_tensor(g, "logits", g->work.logits, n * g->model.config.vocab_size);
    gpt_loss(&g->model, &g->work, g->targets + step * n, g->B, g->T);
    return gpt_mean_loss(&g->work, n);
}

static void step_gradient(struct golden *g, size_t step)
{
    const size_t n = g->B * g->T;
    gpt_loss_backward(&g->model, &g->work, g->targets + step * n, (real)(1 / (double)n), g->B, g->T);
    optimizer_zero_grads(&g->optimizer, g->model.table.size);
    gpt_backward(&g->model, &g->work, g->tokens + step * n, g->B, g->T, &gpt_evaluating, g->optimizer.grads);
}

/* One layer's rows of a statistic (L,B,H,T). */
static void expect_rows(const struct golden *g, const char *what, size_t layer, const real *got)
{
    const size_t layers = g->model.config.n_layer, n = g->B * g->model.config.n_head * g->T;
    double *want = numbers(g, "", what, layers * n);
    expect_near(g, what, got, want + layer * n, n, 0);
    free(want);
}

Test(golden, logits_losses_and_attention_statistics_are_pytorchs)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct golden g;
        golden_open(&g, CASES[i]);
        step_loss(&g, 0);
        expect_tensor(&g, "loss", g.work.loss, g.B * g.T);
        for (size_t layer = 0; layer < g.model.config.n_layer; layer++) {
            const struct attention_rows *rows = &g.work.block[layer].rows;
            expect_rows(&g, "lse", layer, rows->lse);
            expect_rows(&g, "entropy", layer, rows->entropy);
            expect_rows(&g, "max_score", layer, rows->max_score);
        }
        golden_close(&g);
    }
}

Test(golden, every_gradient_is_pytorchs)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct golden g;
        golden_open(&g, CASES[i]);
        step_loss(&g, 0);
        step_gradient(&g, 0);
        const struct params_table *t = &g.model.table;
        double largest = 0;
        for (size_t k = 0; k < t->size; k++)
            largest = fmax(largest, fabs((double)g.optimizer.grads[k]));
        for (size_t k = 0; k < t->count; k++) {
            const struct params_tensor *p = &t->tensor[k];
            if (!p->present)
                continue;
            const size_t n = p->rows * p->cols;
            double *want = numbers(&g, "grad.", p->name, n);
            expect_near(&g, p->name, g.optimizer.grads + p->offset, want, n, 1e-3 * largest);
            free(want);
        }
        golden_close(&g);
    }
}

/* How an optimizer may go wrong, for the test of the test. */
enum plant { PLANT_NONE, PLANT_NO_CLIP, PLANT_DECAY_ALL, PLANT_DECAY_NONE, PLANT_STEP_FROM_ZERO, PLANTS };

/* What the trainer does with a gradient. */
static double update(struct golden *g, size_t step, double lr, enum plant plant)
{
    const struct params_table *t = &g->model.table;
    for (size_t i = 0; i < t->count && plant == PLANT_DECAY_ALL; i++)
        t->tensor[i].role = PARAMS_ROLE_MATRIX;
    const double norm = optimizer_grad_norm(&g->optimizer, t->size, support_team(1));
    const struct optimizer_step s = {.lr = lr,
                                     .beta1 = g->beta1,
                                     .beta2 = g->beta2,
                                     .weight_decay = plant == PLANT_DECAY_NONE ? 0 : g->decay,
                                     .grad_norm = norm,
                                     .grad_clip = plant == PLANT_NO_CLIP ? 0 : g->clip,
                                     .number = step + (plant == PLANT_STEP_FROM_ZERO ? 2 : 1)};
    optimizer_update(&g->optimizer, g->model.params, t, &s, support_team(1));
    return norm;
}

static void train(struct golden *g, enum plant plant)
{
    double *lr = numbers(g, "", "lr", g->steps), *losses = numbers(g, "", "losses", g->steps),
           *norms = numbers(g, "", "norms", g->steps);
    for (size_t s = 0; s < g->steps; s++) {
        const double loss = step_loss(g, s);
        if (plant == PLANT_NONE)
            cr_expect_float_eq(loss, losses[s], TOLERANCE * losses[s], "%s: loss of step %zu is %.12g, not %.12g",
                               g->name, s, loss, losses[s]);
        step_gradient(g, s);
        const double norm = update(g, s, lr[s], plant);
        if (plant == PLANT_NONE)
            cr_expect_float_eq(norm, norms[s], TOLERANCE * norms[s], "%s: norm of step %zu is %.12g, not %.12g",
                               g->name, s, norm, norms[s]);
    }
    free(norms);
    free(losses);
    free(lr);
}

/* Error of a trained tensor.
 *
 * A bias of the keys adds the same number, q_i . b, to every score of query i, and softmax takes no notice of that: its
 * true gradient is zero. What is computed for it is rounding alone, and Adam, which divides a gradient by its own size,
 * makes steps of that. In double epsilon (1e-8) holds them down; in float nothing does, so there it is left out. */
static double weight_error(const struct golden *g, const struct params_tensor *p)
{
    const size_t n = p->rows * p->cols, C = g->model.config.n_embd;
    const real *got = g->model.params + p->offset;
    double *want = numbers(g, "final.", p->name, n), error;
    if (p->kind == PARAMS_QKV_BIAS && sizeof(real) < sizeof(double))
        error = fmax(distance(got, want, C, 0), distance(got + 2 * C, want + 2 * C, C, 0));
    else
        error = distance(got, want, n, 0);
    free(want);
    return error;
}

Test(golden, weights_after_twenty_steps_of_adamw_are_pytorchs)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct golden g;
        golden_open(&g, CASES[i]);
        train(&g, PLANT_NONE);
        for (size_t k = 0; k < g.model.table.count; k++) {
            const struct params_tensor *p = &g.model.table.tensor[k];
            const double error = p->present ? weight_error(&g, p) : 0;
            cr_expect(error <= TOLERANCE, "%s: %s is off by %.3g of its size, more than %.0e", g.name, p->name, error,
                      TOLERANCE);
        }
        golden_close(&g);
    }
}

/* ... and by no other way of training. */
Test(golden, a_wrong_optimizer_ends_with_other_weights)
{
    for (enum plant plant = PLANT_NO_CLIP; plant < PLANTS; plant++) {
        struct golden g;
        double most = 0;
        golden_open(&g, "bias-untied");
        train(&g, plant);
        for (size_t k = 0; k < g.model.table.count; k++)
            most = fmax(most, weight_error(&g, &g.model.table.tensor[k]));
        cr_expect_gt(most, 1e-4, "plant %d changes the weights by %.3g only", (int)plant, most);
        golden_close(&g);
    }
}

/* Nor do all cases clip every step, or none would show what happens below the limit. */
Test(golden, cases_have_steps_with_and_without_clipping)
{
    size_t clipped = 0, free_steps = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct golden g;
        golden_open(&g, CASES[i]);
        double *norms = numbers(&g, "", "norms", g.steps);
        for (size_t s = 0; s < g.steps; s++)
            norms[s] > g.clip ? clipped++ : free_steps++;
        free(norms);
        golden_close(&g);
    }
    cr_expect_gt(clipped, 5);
    cr_expect_gt(free_steps, 5);
}
