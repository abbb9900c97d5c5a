#include "lab/scaling.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/rng.h"
#include "kernels/attention_ref.h"
#include "kernels/gemm.h"
#include "lab/drill.h"
#include "lab/specimen.h"
#include "train/evaluate.h"

#define KEYS SCALING_KEYS
#define BATCH 8  /* trials at a time */
#define DRAWS 32 /* this lab's own among the draws of RNG_CHECK */

static enum status ask(const struct scaling_options *o, const char *what, size_t done, size_t total, struct error *err)
{
    if (o->progress && o->progress(o->context, what, done, total))
        return fail(err, STATUS_INTERRUPTED, "interrupted");
    return STATUS_OK;
}

/* --- random numbers ----------------------------------------------------------------------------- */

/* What each trial, or each row of it, gives. */
struct numbers {
    double *variance, *largest, *entropy; /* (trials) */
    double *others, *query;               /* (trials * KEYS) */
};

/* Some trials of one d_k. The kernels give dq and dk, not the gradient of the scores between them; so heads are made
 * wider by KEYS channels in which queries are 0 and key j is 1 in channel j alone. They add nothing to any score, and
 *   dq_i = scale * sum_j dS_ij k_j
 * holds scale * dS_i in them. Values are 1 in channel j of the first KEYS alone, so dy_i there is the weights' gradient
 * dP_ij = dy_i . v_j itself. */
struct trials {
    size_t d_k, hs, first, trials;
    uint64_t seed;
    struct attention_shape shape;
    struct attention_rows rows;       /* (BATCH,1,KEYS) */
    real *q, *k, *v, *y;              /* (BATCH,KEYS,hs) */
    real *dq, *dk, *dv, *dy;          /* likewise */
    real *weights, *scores, *scratch; /* (BATCH,KEYS,KEYS) twice, and the kernels' */
    struct numbers numbers[SCALING_SIDES];
    struct arena arena;
};

static const enum attention_rule every_key = ATTENTION_FULL;

static void layout(struct trials *t, int lanes)
{
    struct arena *a = &t->arena;
    const size_t all = (size_t)BATCH * KEYS, wide = all * t->hs;
    real **const wides[] = {&t->q, &t->k, &t->v, &t->y, &t->dq, &t->dk, &t->dv, &t->dy};
    for (size_t i = 0; i < sizeof wides / sizeof *wides; i++)
        *wides[i] = arena_take(a, wide, sizeof(real));
    real **const rows[] = {&t->rows.lse, &t->rows.entropy, &t->rows.max_score};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = arena_take(a, all, sizeof(real));
    t->weights = arena_take(a, all * KEYS, sizeof(real));
    t->scores = arena_take(a, all * KEYS, sizeof(real));
    t->scratch = arena_take(a, (size_t)lanes * attention_ref_scratch(&t->shape), sizeof(real));
    for (int side = 0; side < SCALING_SIDES; side++) {
        struct numbers *n = &t->numbers[side];
        double **const each[] = {&n->variance, &n->largest, &n->entropy};
        for (size_t i = 0; i < sizeof each / sizeof *each; i++)
            *each[i] = arena_take(a, t->trials, sizeof(double));
        n->others = arena_take(a, t->trials * KEYS, sizeof(double));
        n->query = arena_take(a, t->trials * KEYS, sizeof(double));
    }
}

static enum status make_trials(struct trials *t, size_t d_k, const struct scaling_options *o, struct error *err)
{
    const size_t hs = d_k + KEYS;
    *t = (struct trials){.d_k = d_k, .hs = hs, .trials = o->trials, .seed = o->seed};
    t->shape = (struct attention_shape){.B = BATCH,
                                        .H = 1,
                                        .H_kv = 1,
                                        .hs = hs,
                                        .T_q = KEYS,
                                        .T_k = KEYS,
                                        .q_batch = KEYS * hs,
                                        .k_batch = KEYS * hs,
                                        .v_batch = KEYS * hs,
                                        .y_batch = KEYS * hs,
                                        .q_stride = hs,
                                        .k_stride = hs,
                                        .v_stride = hs,
                                        .y_stride = hs,
                                        .rules = &every_key};
    layout(t, o->team.threads);
    const enum status s = arena_place(&t->arena, err);
    if (!s)
        layout(t, o->team.threads);
    return s;
}

/* One trial's numbers, into its place in the batch. */
static void draw(struct trials *t, size_t b)
{
    struct rng_site site = {.seed = t->seed,
                            .purpose = RNG_CHECK,
                            .step = (uint32_t)t->d_k,
                            .row = (uint32_t)(t->first + b),
                            .head = DRAWS};
    for (size_t i = 0; i < KEYS; i++) {
        const size_t at = (b * KEYS + i) * t->hs;
        for (size_t c = 0; c < t->d_k; c++) {
            const uint32_t position = (uint32_t)(i * t->d_k + c);
            site.layer = 0;
            t->q[at + c] = (real)rng_normal(&site, position);
            site.layer = 1;
            t->k[at + c] = (real)rng_normal(&site, position);
        }
        t->k[at + t->d_k + i] = 1;
        t->v[at + i] = 1;
        double square = 0;
        site.layer = 2;
        for (size_t j = 0; j < KEYS; j++) {
            const double u = rng_normal(&site, (uint32_t)(i * KEYS + j));
            t->dy[at + j] = (real)u;
            square += u * u;
        }
        for (size_t j = 0; j < KEYS; j++)
            t->dy[at + j] /= (real)sqrt(square);
    }
}

/* What a row's softmax lets through to all keys but its favourite, and what arrives at the query. */
static void measure_row(double *others, double *query, const real *dq, size_t favourite, double scale, size_t d_k)
{
    double square = 0;
    for (size_t j = 0; j < KEYS; j++)
        square += j == favourite ? 0 : pow((double)dq[d_k + j] / scale, 2);
    *others = sqrt(square);
    square = 0;
    for (size_t c = 0; c < d_k; c++)
        square += (double)dq[c] * (double)dq[c];
    *query = sqrt(square);
}

static void measure(struct trials *t, struct numbers *n, size_t b)
{
    const double scale = (double)t->shape.scale;
    const size_t trial = t->first + b;
    const real *scores = t->scores + b * KEYS * KEYS;
    double square = 0, largest = 0, entropy = 0;
    gemm(GEMM_PLAIN, GEMM_TRANSPOSED, KEYS, KEYS, t->d_k, t->shape.scale, t->q + b * KEYS * t->hs, t->hs,
         t->k + b * KEYS * t->hs, t->hs, 0, t->scores + b * KEYS * KEYS, KEYS);
    for (size_t i = 0; i < (size_t)KEYS * KEYS; i++)
        square += (double)scores[i] * (double)scores[i];
    for (size_t i = 0; i < KEYS; i++) {
        const real *p = t->weights + (b * KEYS + i) * KEYS;
        size_t favourite = 0;
        for (size_t j = 1; j < KEYS; j++)
            favourite = p[j] > p[favourite] ? j : favourite;
        largest += (double)p[favourite];
        entropy += (double)t->rows.entropy[b * KEYS + i] / log(KEYS);
        measure_row(&n->others[trial * KEYS + i], &n->query[trial * KEYS + i], t->dq + (b * KEYS + i) * t->hs,
                    favourite, scale, t->d_k);
    }
    n->variance[trial] = square / KEYS / KEYS;
    n->largest[trial] = largest / KEYS;
    n->entropy[trial] = entropy / KEYS;
}

static void try_lane(const struct lane *lane, void *context)
{
    struct trials *t = context;
    const size_t left = t->trials - t->first;
    const struct span mine = lane_span(lane, left < BATCH ? left : BATCH, 1);
    for (size_t b = mine.begin; b < mine.end; b++)
        draw(t, b);
    for (int side = 0; side < SCALING_SIDES; side++) {
        lane_barrier(lane);
        if (lane->index == 0)
            t->shape.scale = side == SCALING_PLAIN ? 1 : (real)(1 / sqrt((double)t->d_k));
        lane_barrier(lane);
        attention_ref_forward(lane, t->y, &t->rows, t->weights, t->q, t->k, t->v, &t->shape, NULL, t->scratch);
        lane_barrier(lane);
        attention_ref_backward(lane, t->dq, t->dk, t->dv, t->dy, t->weights, t->q, t->k, t->v, &t->shape, NULL,
                               t->scratch);
        lane_barrier(lane);
        for (size_t b = mine.begin; b < mine.end; b++)
            measure(t, &t->numbers[side], b);
    }
}

static void mean_of(double *mean, double *error, const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - sum) * (x[i] - sum);
    *mean = sum;
    if (error)
        *error = sqrt(squares / ((double)n - 1) / (double)n);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts x. */
static double median_of(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static void sum_up(struct scaling_look *look, struct numbers *n, size_t trials)
{
    mean_of(&look->variance, &look->variance_error, n->variance, trials);
    mean_of(&look->largest, &look->largest_error, n->largest, trials);
    mean_of(&look->entropy, &look->entropy_error, n->entropy, trials);
    mean_of(&look->others_mean, NULL, n->others, trials * KEYS);
    look->others_median = median_of(n->others, trials * KEYS);
    look->query_median = median_of(n->query, trials * KEYS);
}

static enum status measure_width(struct scaling_point *p, const struct scaling_options *o, size_t done,
                                 struct error *err)
{
    struct trials t;
    enum status s = make_trials(&t, p->d_k, o, err);
    for (; !s && t.first < t.trials; t.first += BATCH) {
        s = ask(o, "random numbers", done * t.trials + t.first, SCALING_WIDTHS * t.trials, err);
        if (!s)
            team_run(o->team, try_lane, &t);
    }
    for (int side = 0; !s && side < SCALING_SIDES; side++)
        sum_up(&p->look[side], &t.numbers[side], t.trials);
    arena_free(&t.arena);
    return s;
}

/* --- two trainings ------------------------------------------------------------------------------ */

enum { CONTEXT = 64, ROWS = 8, TEXT = 200000, WINDOWS = 64 };
#define RATE 1e-3

struct pupil {
    const struct scaling_options *options;
    struct scaling_training *result;
    struct gpt *g;
    struct work *w;
    const struct dataset *data;
    enum scaling_side side;
};

static enum status look_at(struct pupil *p, uint32_t done, struct error *err)
{
    struct scaling_training *r = p->result;
    size_t begin, end;
    dataset_bounds(p->data, DATASET_VAL, &begin, &end);
    struct evaluation e = {0};
    const struct evaluate_options o = {.T = CONTEXT, .max_windows = WINDOWS};
    const enum status s = evaluate(&e, p->g, p->w, p->data, begin, end, &o, err);
    if (s)
        return s;
    uint32_t tokens[ROWS * CONTEXT], targets[CONTEXT];
    double unused[SCALING_LAYERS];
    for (size_t b = 0; b < ROWS; b++)
        dataset_window(p->data, tokens + b * CONTEXT, targets, begin + b * (end - begin - CONTEXT - 1) / ROWS, CONTEXT);
    gpt_forward(p->g, p->w, tokens, ROWS, CONTEXT, &gpt_evaluating);
    gpt_attention_summary(r->entropy[r->looks], unused, p->g, p->w, ROWS, CONTEXT);
    r->step[r->looks] = done;
    r->val_loss[r->looks] = e.loss;
    r->looks++;
    return STATUS_OK;
}

static enum status watch(void *context, uint32_t done, struct error *err)
{
    struct pupil *p = context;
    const size_t steps = p->options->steps, next = p->result->looks * steps / (SCALING_LOOKS - 1);
    const enum status s =
        ask(p->options, p->side == SCALING_PLAIN ? "training without the scale" : "training with it", done, steps, err);
    return s || done != next ? s : look_at(p, done, err);
}

static enum status train(struct pupil *p, struct error *err)
{
    params_init(p->g->params, &p->g->table, &p->g->config, p->options->seed);
    p->g->attention_scale = p->side == SCALING_PLAIN ? 1 : 0;
    struct drill d = {
        .g = p->g, .w = p->w, .data = p->data, .lr = RATE, .seed = p->options->seed, .watch = watch, .context = p};
    return drill_run(&d, p->options->steps, err);
}

static enum status train_both(struct scaling *r, const struct scaling_options *o, const struct specimen_text *text,
                              struct error *err)
{
    const struct config c = config_make(SCALING_LAYERS, 1, SCALING_HEAD_SIZE, CONTEXT, text->tokenizer.size);
    struct gpt g;
    struct work w;
    enum status s = gpt_create(&g, &c, err);
    if (s)
        return s;
    r->parameters = g.table.size;
    s = work_create(&w, &c, ROWS, CONTEXT, true, o->team, err);
    if (!s) {
        for (int side = 0; !s && side < SCALING_SIDES; side++) {
            struct pupil p = {o, &r->training[side], &g, &w, &text->data, (enum scaling_side)side};
            s = train(&p, err);
        }
        work_free(&w);
    }
    gpt_free(&g);
    return s;
}

enum status scaling_run(struct scaling *r, const struct scaling_options *o, struct error *err)
{
    assert(o->trials > 1 && (o->steps == 0 || o->steps >= SCALING_LOOKS - 1) && o->team.threads > 0);
    *r = (struct scaling){0};
    enum status s = STATUS_OK;
    for (size_t i = 0; !s && i < SCALING_WIDTHS; i++) {
        r->point[i].d_k = (size_t)2 << i;
        s = measure_width(&r->point[i], o, i, err);
    }
    if (s || o->steps == 0)
        return s;
    struct specimen_text text;
    s = specimen_text_make(&text, o->seed, TEXT, err);
    if (s)
        return s;
    s = train_both(r, o, &text, err);
    specimen_text_free(&text);
    return s;
}
