#include "lab/learning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum status learning_open(struct learning *l, struct error *err)
{
    const struct gpt *g = l->trainer->model;
    l->first = malloc(g->table.size * sizeof *l->first);
    if (!l->first)
        return fail(err, STATUS_MEMORY, "memory for a second copy of the weights was refused");
    memcpy(l->first, g->params, g->table.size * sizeof *l->first);
    return STATUS_OK;
}

/* The first weights, and an optimizer that has seen nothing. */
static void begin_anew(struct learning *l)
{
    const size_t size = l->trainer->model->table.size;
    memcpy(l->trainer->model->params, l->first, size * sizeof *l->first);
    memset(l->trainer->optimizer.m, 0, size * sizeof(real));
    memset(l->trainer->optimizer.v, 0, size * sizeof(real));
}

void learning_close(struct learning *l)
{
    if (l->first)
        begin_anew(l);
    free(l->first);
    l->first = NULL;
}

/* Draws the windows of a step into the trainer's batch. */
static void draw(struct learning *l, size_t rows, uint32_t step)
{
    struct gpt_learner *b = &l->trainer->learner;
    const size_t T = l->trainer->work.T;
    for (size_t i = 0; i < rows; i++)
        dataset_window(l->trainer->data, b->tokens + i * T, b->targets + i * T,
                       dataset_draw(l->trainer->data, T, l->trainer->settings.seed, step, (uint32_t)i), T);
}

static void forward(struct learning *l, size_t rows, const struct gpt_pass *pass)
{
    struct trainer *t = l->trainer;
    gpt_forward(t->model, &t->work, t->learner.tokens, rows, t->work.T, pass);
    gpt_loss(t->model, &t->work, t->learner.targets, rows, t->work.T);
}

/* One update on the batch as it is, and the loss before it. False when loss or gradient is not finite. */
static bool update(double *loss, struct learning *l, size_t rows, size_t number, double lr, const struct gpt_pass *pass)
{
    struct trainer *t = l->trainer;
    const struct trainer_settings *s = &t->settings;
    const size_t T = t->work.T, N = rows * T, size = t->model->table.size;
    optimizer_zero_grads(&t->optimizer, size);
    forward(l, rows, pass);
    *loss = gpt_mean_loss(&t->work, N);
    gpt_loss_backward(t->model, &t->work, t->learner.targets, (real)(1.0 / (double)N), rows, T);
    gpt_backward(t->model, &t->work, t->learner.tokens, rows, T, pass, t->optimizer.grads);
    const struct optimizer_step step = {.lr = lr,
                                        .beta1 = s->beta1,
                                        .beta2 = s->beta2,
                                        .weight_decay = pass->training ? s->weight_decay : 0,
                                        .grad_norm = optimizer_grad_norm(&t->optimizer, size, s->team),
                                        .grad_clip = pass->training ? s->grad_clip : 1,
                                        .number = number + 1};
    if (!isfinite(*loss) || !isfinite(step.grad_norm))
        return false;
    optimizer_update(&t->optimizer, t->model->params, &t->model->table, &step, s->team);
    return true;
}

static enum status ask(const struct learning *l, const char *run, size_t done, size_t total, struct error *err)
{
    if (l->stop && l->stop(l->context, run, done, total))
        return fail(err, STATUS_INTERRUPTED, "interrupted: nothing was written");
    return STATUS_OK;
}

/* A rate at which small models learn fast and large ones do not diverge: it falls with the root of the width, from 3e-3
 * at 128 channels. The runs that use it ask whether a model learns, not how well. */
static double usual_rate(const struct learning *l, size_t done)
{
    const double lr = fmin(3e-3 * sqrt(128 / (double)l->trainer->model->config.n_embd), 1e-2);
    return done < 10 ? lr * (double)(done + 1) / 10 : lr;
}

/* ---- the first loss ---- */

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sum over symbols of their share squared; sorts x. */
static double concentration(uint32_t *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
    double sum = 0;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && x[j] == x[i]; j++)
            ;
        const double share = (double)(j - i) / (double)n;
        sum += share * share;
    }
    return sum;
}

void learning_first(struct learning_first *r, struct learning *l)
{
    const struct trainer *t = l->trainer;
    const size_t N = t->work.B * t->work.T;
    const double s = 0.02 * sqrt((double)t->model->config.n_embd);
    begin_anew(l);
    draw(l, t->work.B, 0);
    forward(l, t->work.B, &gpt_evaluating);
    r->loss = gpt_mean_loss(&t->work, N);
    r->expected = log((double)t->model->config.vocab_size) + s * s / 2;
    r->spread = s * sqrt(concentration(t->learner.targets, N));
}

/* ---- one batch ---- */

/* The entropy of targets that stand after what looks the same to the model: at the same place in the window, the same
 * symbols as far back as it can see. */
static double left_open(const struct learning *l, size_t rows)
{
    const struct trainer *t = l->trainer;
    const struct config *c = &t->model->config;
    const size_t T = t->work.T, sees = c->window ? c->n_layer * (c->window - 1) + 1 : T;
    const uint32_t *tokens = t->learner.tokens, *targets = t->learner.targets;
    size_t alike[LEARNING_ROWS][LEARNING_ROWS] = {{0}}; /* symbols up to here that two rows share */
    double sum = 0;
    for (size_t i = 0; i < T; i++)
        for (size_t a = 0; a < rows; a++) {
            double same = 0, match = 0;
            for (size_t b = 0; b < rows; b++) {
                alike[a][b] = tokens[a * T + i] == tokens[b * T + i] ? alike[a][b] + 1 : 0;
                if (alike[a][b] < (i + 1 < sees ? i + 1 : sees))
                    continue;
                same++;
                match += targets[a * T + i] == targets[b * T + i];
            }
            sum -= log(match / same);
        }
    return sum / (double)(rows * T);
}

enum status learning_batch(struct learning_batch *r, struct learning *l, struct error *err)
{
    struct trainer *t = l->trainer;
    const double began = clock_seconds();
    *r = (struct learning_batch){.rows = t->work.B < LEARNING_ROWS ? t->work.B : LEARNING_ROWS};
    r->symbols = r->rows * t->work.T;
    begin_anew(l);
    draw(l, r->rows, 0);
    r->floor = left_open(l, r->rows);
    for (;; r->updates++) {
        const enum status s = ask(l, "one batch", r->updates, LEARNING_BATCH_UPDATES, err);
        if (s)
            return s;
        const bool finite = update(&r->last, l, r->rows, r->updates, usual_rate(l, r->updates), &gpt_evaluating);
        if (r->updates == 0) {
            r->first = r->last;
            r->goal = r->floor + 0.05 * fmax(r->first - r->floor, 0);
        }
        r->reached = r->last <= r->goal;
        if (r->reached || !finite || r->updates == LEARNING_BATCH_UPDATES)
            return STATUS_OK;
        r->cut = l->seconds > 0 && clock_seconds() - began > l->seconds;
        if (r->cut)
            return STATUS_OK;
    }
}

/* ---- blinded input ---- */

static double c_ln_c(size_t c)
{
    return c > 0 ? (double)c * log((double)c) : 0;
}

/* Mean over the T places in a window of the entropy of the target there, windows standing everywhere. */
static enum status target_entropy(double *entropy, const struct learning *l, struct error *err)
{
    const struct trainer *t = l->trainer;
    const size_t T = t->work.T;
    size_t begin, end;
    dataset_bounds(t->data, DATASET_TRAIN, &begin, &end);
    const size_t places = end - begin - T; /* where a window can begin */
    size_t *count = calloc(t->model->config.vocab_size, sizeof *count);
    if (!count)
        return fail(err, STATUS_MEMORY, "memory to count the symbols of a text was refused");
    for (size_t i = 0; i < places; i++)
        count[dataset_id(t->data, begin + 1 + i)]++;
    double inner = 0, sum = 0; /* sum of c ln c, of one place */
    for (size_t v = 0; v < t->model->config.vocab_size; v++)
        inner += c_ln_c(count[v]);
    for (size_t k = 0; k < T; k++) {
        sum += log((double)places) - inner / (double)places;
        if (k + 1 == T)
            break;
        size_t *gone = &count[dataset_id(t->data, begin + 1 + k)];
        inner += c_ln_c(*gone - 1) - c_ln_c(*gone);
        --*gone;
        size_t *come = &count[dataset_id(t->data, begin + 1 + k + places)];
        inner += c_ln_c(*come + 1) - c_ln_c(*come);
        ++*come;
    }
    free(count);
    *entropy = fmax(sum / (double)T, 0);
    return STATUS_OK;
}

static void draw_blinded(struct learning *l, uint32_t step)
{
    struct gpt_learner *b = &l->trainer->learner;
    const size_t B = l->trainer->work.B, N = B * l->trainer->work.T;
    draw(l, B, step);
    if (l->blind)
        l->blind(b->tokens, b->targets, N);
    else
        memset(b->tokens, 0, N * sizeof *b->tokens);
}

/* The mean over windows that were not trained on, and its standard error. */
static void read_blinded(struct learning_blinded *r, struct learning *l)
{
    const size_t B = l->trainer->work.B, T = l->trainer->work.T;
    double sum = 0, square = 0;
    for (uint32_t k = 0; k < LEARNING_BLIND_BATCHES; k++) {
        draw_blinded(l, LEARNING_BLIND_UPDATES + k);
        forward(l, B, &gpt_evaluating);
        for (size_t b = 0; b < B; b++) {
            double row = 0;
            for (size_t i = 0; i < T; i++)
                row += (double)l->trainer->work.loss[b * T + i] / (double)T;
            sum += row;
            square += row * row;
        }
    }
    const double n = (double)(LEARNING_BLIND_BATCHES * B);
    r->loss = sum / n;
    r->error = sqrt(fmax(square / n - r->loss * r->loss, 0) / (n - 1));
}

enum status learning_blinded(struct learning_blinded *r, struct learning *l, struct error *err)
{
    const double began = clock_seconds();
    *r = (struct learning_blinded){0};
    enum status s = target_entropy(&r->entropy, l, err);
    begin_anew(l);
    while (!s && r->updates < LEARNING_BLIND_UPDATES && !r->cut) {
        s = ask(l, "blinded input", r->updates, LEARNING_BLIND_UPDATES, err);
        if (s)
            return s;
        double loss;
        draw_blinded(l, (uint32_t)r->updates);
        if (!update(&loss, l, l->trainer->work.B, r->updates, usual_rate(l, r->updates), &gpt_evaluating))
            break;
        r->updates++;
        r->cut = l->seconds > 0 && clock_seconds() - began > l->seconds;
    }
    if (!s)
        read_blinded(r, l);
    return s;
}

/* ---- learning rates ---- */

#define NEARLY 1.04 /* times the lowest loss: of rates so near, the highest is recommended */

static const double RATES[LEARNING_RATES] = {3e-4, 1e-3, 3e-3, 1e-2, 3e-2};

/* Mean and standard error over the last quarter of a run; infinite once it is worse than knowing nothing by far. */
static enum status try_rate(struct learning_sweep *r, size_t k, struct learning *l, size_t updates, struct error *err)
{
    const size_t quarter = updates / 4, warmup = updates / 3;
    double sum = 0, square = 0;
    begin_anew(l);
    for (size_t i = 0; i < updates; i++) {
        const enum status s = ask(l, "learning rates", k * updates + i, LEARNING_RATES * updates, err);
        if (s)
            return s;
        const struct gpt_pass pass = {.training = true, .seed = l->trainer->settings.seed, .step = (uint32_t)i};
        const struct schedule schedule = {
            .lr = r->rate[k], .min_lr = r->rate[k] / 100, .warmup = warmup, .steps = updates};
        double loss;
        draw(l, l->trainer->work.B, (uint32_t)i);
        const bool finite = update(&loss, l, l->trainer->work.B, i, schedule_rate(&schedule, i), &pass);
        if (i == 0)
            r->first = loss;
        if (!finite || loss > 3 * r->first + 1) {
            r->loss[k] = INFINITY;
            return STATUS_OK;
        }
        if (i >= updates - quarter) {
            sum += loss;
            square += loss * loss;
        }
    }
    const double n = (double)quarter;
    r->loss[k] = sum / n;
    r->error[k] = sqrt(fmax(square / n - r->loss[k] * r->loss[k], 0) / (n - 1));
    return STATUS_OK;
}

/* Updates that fit in the time: those of the first of them that are timed are not lost on the result. */
static size_t updates_in_time(struct learning *l)
{
    if (!(l->seconds > 0))
        return LEARNING_RATE_UPDATES;
    const struct gpt_pass pass = {.training = true, .seed = l->trainer->settings.seed};
    double loss;
    begin_anew(l);
    draw(l, l->trainer->work.B, 0);
    const double began = clock_seconds();
    (void)update(&loss, l, l->trainer->work.B, 0, 0, &pass);
    const double fit = l->seconds / LEARNING_RATES / fmax(clock_seconds() - began, 1e-9);
    return fit >= LEARNING_RATE_UPDATES ? LEARNING_RATE_UPDATES : fit > 16 ? (size_t)fit : 16;
}

static void recommend(struct learning_sweep *r)
{
    double lowest = INFINITY;
    for (size_t k = 0; k < LEARNING_RATES; k++)
        if (r->loss[k] < lowest && r->loss[k] + fmax(4 * r->error[k], 0.05 * r->first) < r->first) {
            lowest = r->loss[k];
            r->best = r->rate[k];
        }
    for (size_t k = 0; k < LEARNING_RATES; k++)
        if (r->best > 0 && r->loss[k] <= NEARLY * lowest)
            r->recommended = r->rate[k];
}

enum status learning_sweep(struct learning_sweep *r, struct learning *l, struct error *err)
{
    *r = (struct learning_sweep){.updates = updates_in_time(l)};
    r->cut = r->updates < LEARNING_RATE_UPDATES;
    for (size_t k = 0; k < LEARNING_RATES; k++) {
        r->rate[k] = RATES[k];
        const enum status s = try_rate(r, k, l, r->updates, err);
        if (s)
            return s;
    }
    recommend(r);
    return STATUS_OK;
}
