#include "diag/gradcheck.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { LEVELS = 14 }; /* steps from 1/16 down to 1/131072, as far as they are needed */
static const double FIRST_STEP = 0.0625;
static const double FLOOR = 1e-3; /* of the model's largest gradient */

/* Columns [begin, begin + cols) of a tensor: all of it, or a view. */
struct part {
    const struct params_tensor *tensor;
    size_t begin, cols;
    double scale; /* what its errors are divided by */
};

static size_t part_size(const struct part *p)
{
    return p->tensor->rows * p->cols;
}

/* The k-th number of a part, as an index into its tensor. */
static size_t part_index(const struct part *p, size_t k)
{
    return k / p->cols * p->tensor->cols + p->begin + k % p->cols;
}

static struct part part_make(const struct params_tensor *t, size_t begin, size_t cols, const real *grads,
                             double largest)
{
    struct part p = {t, begin, cols, FLOOR * largest};
    for (size_t k = 0; k < part_size(&p); k++) {
        const double g = fabs((double)grads[t->offset + part_index(&p, k)]);
        p.scale = g > p.scale ? g : p.scale;
    }
    return p;
}

/* dL/dx, measured at *x. Stops as soon as four neighbours in the table of extrapolations, from three steps, agree
 * within `enough`: two alone may do so by chance where the loss is jagged. */
static double derivative(const struct gradcheck_learner *learner, real *x, double enough)
{
    const real kept = *x;
    double row[LEVELS], best = 0, doubt = INFINITY, h = FIRST_STEP;
    for (int level = 0; level < LEVELS && !(doubt <= enough); level++, h /= 2) {
        const real above = (real)((double)kept + h), below = (real)((double)kept - h);
        *x = above;
        const double loss_above = learner->loss(learner->context);
        *x = below;
        const double loss_below = learner->loss(learner->context);
        /* The error of a central difference is a series in h^2: column j of the table has lost its first j terms.
         * row[j] holds the line above this one, and is replaced from left to right. */
        const double width = (double)above - (double)below;
        /* Small steps agree by chance where the loss has no more digits: what rounding may do counts as doubt. */
        const double rounding = REAL_EPSILON * fmax(fabs(loss_above), fabs(loss_below)) / width;
        double value = (loss_above - loss_below) / width, weight = 1;
        for (int j = 0; j < level; j++) {
            weight *= 4;
            const double coarse = row[j], finer = value + (value - coarse) / (weight - 1);
            if (j + 1 < level) {
                const double change = fmax(fmax(fabs(finer - value), fabs(finer - coarse)), fabs(finer - row[j + 1]));
                if (change + rounding <= doubt) {
                    doubt = change + rounding;
                    best = finer;
                }
            }
            row[j] = value;
            value = finer;
        }
        row[level] = value;
    }
    *x = kept;
    return doubt < INFINITY ? best : (double)NAN; /* no three steps gave finite numbers */
}

/* Measures up to `most` numbers of a part, one drawn from each of as many equal stretches, where they are not
 * measured yet. measured (tensor's numbers), NaN where there is nothing: done (same) tells which are. */
static void measure(double *measured, bool *done, const struct part *p, real *params,
                    const struct gradcheck_learner *learner, size_t most, const struct rng_site *site)
{
    const size_t n = part_size(p), draws = most == 0 || most > n ? n : most;
    for (size_t d = 0; d < draws; d++) {
        const size_t begin = (size_t)((double)n / (double)draws * (double)d);
        const size_t end = d + 1 < draws ? (size_t)((double)n / (double)draws * (double)(d + 1)) : n;
        const size_t k = draws == n ? d : begin + (size_t)rng_below(site, (uint32_t)d, end - begin);
        const size_t i = part_index(p, k);
        if (done[i])
            continue;
        measured[i] = derivative(learner, params + p->tensor->offset + i, 0.01 * GRADCHECK_TOLERANCE * p->scale);
        done[i] = true;
    }
}

static void judge(struct gradcheck_result *r, const struct part *p, const real *grads, const double *measured,
                  const bool *done)
{
    for (size_t k = 0; k < part_size(p); k++) {
        const size_t i = part_index(p, k);
        if (!done[i])
            continue;
        const double g = (double)grads[p->tensor->offset + i], off = fabs(g - measured[i]);
        double error = off == 0 ? 0 : off / p->scale; /* 0 / 0 where the whole model's gradient is zero */
        if (!isfinite(error))
            error = INFINITY;
        if (r->checked++ == 0 || error > r->error) {
            r->error = error;
            r->worst = i;
            r->gradient = g;
            r->measured = measured[i];
        }
    }
}

/* One tensor and its views. Results are appended. */
static void check_tensor(struct gradcheck *c, real *params, const struct params_table *table, size_t index,
                         const real *grads, const struct gradcheck_learner *learner, size_t most, uint64_t seed,
                         double *measured, bool *done)
{
    const struct params_tensor *t = &table->tensor[index];
    const size_t n = t->rows * t->cols;
    memset(done, 0, n * sizeof *done);
    struct params_view views[6];
    size_t n_views = 0;
    if (t->kind == PARAMS_QKV || t->kind == PARAMS_QKV_BIAS)
        n_views = params_views(views, table, t->layer);

    const struct part whole = part_make(t, 0, t->cols, grads, c->largest);
    struct gradcheck_result *first = &c->result[c->count++];
    snprintf(first->name, sizeof first->name, "%s", t->name);
    first->tensor = index;
    struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .row = (uint32_t)index};
    for (size_t v = 0; v < n_views; v++) {
        if (views[v].tensor != index)
            continue;
        const struct part part = part_make(t, views[v].begin, views[v].cols, grads, c->largest);
        site.head = (uint32_t)v;
        measure(measured, done, &part, params, learner, most, &site);
        struct gradcheck_result *r = &c->result[c->count++];
        snprintf(r->name, sizeof r->name, "%s:%s", t->name, views[v].name);
        r->tensor = index;
        r->view = true;
        judge(r, &part, grads, measured, done);
    }
    if (n_views == 0)
        measure(measured, done, &whole, params, learner, most, &site);
    judge(first, &whole, grads, measured, done);
}

static enum status check_all(struct gradcheck *c, real *params, const struct params_table *table,
                             const struct gradcheck_learner *learner, size_t most, uint64_t seed, real *grads,
                             double *measured, bool *done, struct error *err)
{
    c->loss = learner->loss_and_gradient(learner->context, grads);
    if (!isfinite(c->loss))
        return fail(err, STATUS_NONFINITE, "the loss is %g before anything is moved: no gradient can be checked there",
                    c->loss);
    for (size_t t = 0; t < table->count; t++) /* absent tensors have no numbers in the block */
        for (size_t i = 0; table->tensor[t].present && i < table->tensor[t].rows * table->tensor[t].cols; i++) {
            const double g = fabs((double)grads[table->tensor[t].offset + i]);
            c->largest = isfinite(g) && g > c->largest ? g : c->largest;
        }
    for (size_t t = 0; t < table->count; t++)
        if (table->tensor[t].present)
            check_tensor(c, params, table, t, grads, learner, most, seed, measured, done);
    return STATUS_OK;
}

enum status gradcheck_run(struct gradcheck *c, real *params, const struct params_table *table,
                          const struct gradcheck_learner *learner, size_t most, uint64_t seed, struct error *err)
{
    *c = (struct gradcheck){0};
    size_t widest = 0;
    for (size_t t = 0; t < table->count; t++) {
        const size_t n = table->tensor[t].rows * table->tensor[t].cols;
        widest = n > widest ? n : widest;
    }
    assert(table->count > 0 && table->size > 0 && widest > 0);
    c->result = calloc(4 * table->count, sizeof *c->result); /* a tensor has at most three views */
    real *grads = malloc(table->size * sizeof *grads);
    double *measured = malloc(widest * sizeof *measured);
    bool *done = malloc(widest * sizeof *done);
    const enum status s =
        c->result && grads && measured && done
            ? check_all(c, params, table, learner, most, seed, grads, measured, done, err)
            : fail(err, STATUS_MEMORY, "checking the gradient of %zu parameters was refused memory", table->size);
    free(done);
    free(measured);
    free(grads);
    if (s)
        gradcheck_free(c);
    return s;
}

void gradcheck_free(struct gradcheck *c)
{
    free(c->result);
    *c = (struct gradcheck){0};
}

const struct gradcheck_result *gradcheck_worst(const struct gradcheck *c)
{
    const struct gradcheck_result *worst = &c->result[0];
    for (size_t i = 1; i < c->count; i++)
        if (c->result[i].error > worst->error)
            worst = &c->result[i];
    return worst;
}

/* The counters of the m-th batch of a step. */
static struct gpt_pass batch_pass(const struct gradcheck_step *s, size_t m)
{
    struct gpt_pass pass = s->pass;
    pass.first_row += (uint32_t)(m * s->B);
    return pass;
}

/* Mean loss; with grads also its gradient. */
static double step_run(const struct gradcheck_step *s, real *grads)
{
    const size_t n = s->B * s->T;
    double sum = 0;
    for (size_t m = 0; m < s->micro; m++) {
        const struct gpt_pass pass = batch_pass(s, m);
        gpt_forward(s->model, s->work, s->tokens + m * n, s->B, s->T, &pass);
        gpt_loss(s->model, s->work, s->targets + m * n, s->B, s->T);
        sum += gpt_mean_loss(s->work, n);
        if (!grads)
            continue;
        gpt_loss_backward(s->model, s->work, s->targets + m * n, (real)(1 / (double)(s->micro * n)), s->B, s->T);
        gpt_backward(s->model, s->work, s->tokens + m * n, s->B, s->T, &pass, grads);
    }
    return sum / (double)s->micro;
}

static double step_loss(void *context)
{
    return step_run(context, NULL);
}

static double step_loss_and_gradient(void *context, real *grads)
{
    const struct gradcheck_step *s = context;
    memset(grads, 0, s->model->table.size * sizeof *grads);
    return step_run(s, grads);
}

struct gradcheck_learner gradcheck_of_step(struct gradcheck_step *step)
{
    return (struct gradcheck_learner){step, step_loss, step_loss_and_gradient};
}
