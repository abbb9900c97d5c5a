#include "support/tiny.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#include "support/machine.h"

static void fill(real *x, size_t n, double mean, double sigma, const struct rng_site *site)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (real)(mean + sigma * rng_normal(site, (uint32_t)i));
}

void tiny_make(struct tiny *t, const struct config *c, size_t micro, size_t B, size_t T, int threads)
{
    struct error err;
    *t = (struct tiny){.micro = micro, .B = B, .T = T};
    cr_assert_eq(gpt_create(&t->model, c, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(work_create(&t->work, c, B, T, true, support_team(threads), &err), STATUS_OK, "%s", err.message);
    /* some plant faults */
    cr_assert_eq(work_keep_weights(&t->work, c, &err), STATUS_OK, "%s", err.message);
    struct rng_site site = {.seed = 11, .purpose = RNG_TEST};
    for (size_t i = 0; i < t->model.table.count; i++) {
        const struct params_tensor *p = &t->model.table.tensor[i];
        if (!p->present)
            continue;
        const double wide = 1 / sqrt((double)p->rows);
        const double sigma = p->role == PARAMS_ROLE_EMBEDDING ? 0.7 : p->role == PARAMS_ROLE_MATRIX ? wide : 0.3;
        site.layer = (uint32_t)i;
        fill(t->model.params + p->offset, p->rows * p->cols, p->role == PARAMS_ROLE_GAIN, sigma, &site);
    }
    const size_t n = micro * B * T;
    t->tokens = malloc(n * sizeof *t->tokens);
    t->targets = malloc(n * sizeof *t->targets);
    cr_assert(t->tokens && t->targets);
    site.layer = 0;
    site.head = 1;
    for (size_t i = 0; i < n; i++) {
        t->tokens[i] = (uint32_t)rng_below(&site, (uint32_t)(2 * i), c->vocab_size);
        t->targets[i] = (uint32_t)rng_below(&site, (uint32_t)(2 * i + 1), c->vocab_size);
    }
}

void tiny_free(struct tiny *t)
{
    free(t->targets);
    free(t->tokens);
    work_free(&t->work);
    gpt_free(&t->model);
}

real *tiny_tensor(const struct tiny *t, real *values, enum params_kind kind, size_t layer)
{
    const struct params_tensor *p = params_find(&t->model.table, kind, layer);
    return p && p->present ? values + p->offset : NULL;
}

void tiny_sharpen(struct tiny *t, size_t layer, real factor)
{
    const size_t C = t->model.config.n_embd;
    real *w = tiny_tensor(t, t->model.params, PARAMS_QKV, layer);
    real *b = tiny_tensor(t, t->model.params, PARAMS_QKV_BIAS, layer);
    for (size_t i = 0; i < C; i++)
        for (size_t o = 0; o < C; o++)
            w[i * 3 * C + o] *= factor;
    for (size_t o = 0; b && o < C; o++)
        b[o] *= factor;
}

double tiny_step(struct tiny *t, const struct gpt_pass *pass, real *grads)
{
    gpt_forward(&t->model, &t->work, t->tokens, t->B, t->T, pass);
    gpt_loss(&t->model, &t->work, t->targets, t->B, t->T);
    gpt_loss_backward(&t->model, &t->work, t->targets, (real)(1 / (double)(t->B * t->T)), t->B, t->T);
    memset(grads, 0, t->model.table.size * sizeof *grads);
    gpt_backward(&t->model, &t->work, t->tokens, t->B, t->T, pass, grads);
    return gpt_mean_loss(&t->work, t->B * t->T);
}

double tiny_distance(const real *a, const real *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= most)) /* NaN is kept */
            most = d;
    }
    return most;
}
