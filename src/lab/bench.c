#include "lab/bench.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/timings.h"
#include "lab/pace.h"
#include "lab/peak.h"
#include "model/gpt.h"
#include "model/optimizer.h"

#define BATCHES 16       /* different ones, so that nothing is learnt by heart */
#define BOUT_STEPS 1000  /* the most in one bout */
#define DETAIL_STEPS 200 /* steps whose operations are timed, of all rounds */
#define SEED 1

double bench_step_flops(const struct params_table *t, const struct config *c, size_t B)
{
    double weights = (double)c->vocab_size * (double)c->n_embd; /* the head's, tied or not */
    for (size_t i = 0; i < t->count; i++)
        if (t->tensor[i].role == PARAMS_ROLE_MATRIX)
            weights += (double)t->tensor[i].rows * (double)t->tensor[i].cols;
    const double tokens = (double)B * (double)c->block_size;
    return 6 * tokens * weights + 6 * (double)c->n_layer * (double)c->block_size * (double)c->n_embd * tokens;
}

double bench_flops(const struct config *c, size_t B, enum laps_operation o, enum laps_pass p)
{
    const double N = (double)B * (double)c->block_size, C = (double)c->n_embd, L = (double)c->n_layer;
    switch (o) {
    case LAPS_QKV:
        return 2 * N * L * 3 * C * C;
    case LAPS_PROJ:
        return 2 * N * L * C * C;
    case LAPS_FC:
    case LAPS_FC_OUT:
        return 2 * N * L * 4 * C * C;
    case LAPS_HEAD:
        return 2 * N * C * (double)c->vocab_size;
    case LAPS_ATTENTION: /* two products of half a triangle forward, four backward; it has no weights */
        return p == LAPS_WEIGHT ? 0 : (p == LAPS_FORWARD ? 2 : 4) * L * N * (double)c->block_size * C;
    case LAPS_EMBEDDING:
    case LAPS_LAYERNORM:
    case LAPS_GELU:
    case LAPS_RESIDUAL:
    case LAPS_LOSS:
    case LAPS_PACK:
    case LAPS_NORM:
    case LAPS_ADAMW:
    case LAPS_WAIT:
    case LAPS_OPERATIONS:
        break;
    }
    return 0;
}

/* What has its turn in a round. GEMM, BF16, WITHIN and PAST are rates, not times; their
 * medians are as good. */
enum times { STEP, ONE_THREAD, QUIET, SUMMARY, GEMM, BF16, WITHIN, PAST, TIMES };

/* Everything a measurement holds, released in one place. */
struct rig {
    const struct bench_options *o;
    struct bench *b;
    struct gpt model;
    struct work work;
    struct optimizer optimizer;
    struct arena arena; /* the optimizer's, symbols, and summaries */
    uint32_t *symbols;  /* (BATCHES, B * T + 1): targets are the next ones */
    double *entropy, *max_score;
    size_t done; /* steps */
    struct peak peak;
    struct pace pace;
    struct timings times[TIMES];
    struct timings laps[LAPS_OPERATIONS][LAPS_PASSES];
    size_t measured, to_measure;
};

static void rig_free(struct rig *r)
{
    for (int o = 0; o < LAPS_OPERATIONS; o++)
        for (int p = 0; p < LAPS_PASSES; p++)
            timings_free(&r->laps[o][p]);
    for (int kind = 0; kind < TIMES; kind++)
        timings_free(&r->times[kind]);
    pace_free(&r->pace);
    peak_free(&r->peak);
    work_free(&r->work);
    arena_free(&r->arena);
    gpt_free(&r->model);
}

static void layout(struct rig *r, size_t N)
{
    const size_t heads = r->model.config.n_layer * r->model.config.n_head;
    optimizer_layout(&r->optimizer, &r->arena, r->model.table.size);
    r->symbols = arena_take(&r->arena, BATCHES * (N + 1), sizeof *r->symbols);
    r->entropy = arena_take(&r->arena, heads, sizeof *r->entropy);
    r->max_score = arena_take(&r->arena, heads, sizeof *r->max_score);
}

static enum status make_training(struct rig *r, struct error *err)
{
    const struct bench_options *o = r->o;
    const size_t T = o->config.block_size;
    enum status s = work_create(&r->work, &o->config, o->batch_size, T, true, o->team, err);
    if (s)
        return s;
    const size_t N = o->batch_size * T; /* work_create has checked it */
    layout(r, N);
    s = arena_place(&r->arena, err);
    if (s)
        return s;
    layout(r, N);
    const struct rng_site site = {.seed = SEED, .purpose = RNG_DATA};
    for (size_t i = 0; i < BATCHES * (N + 1); i++)
        r->symbols[i] = (uint32_t)rng_below(&site, (uint32_t)i, o->config.vocab_size);
    return STATUS_OK;
}

static enum status make_timings(struct rig *r, struct error *err)
{
    const size_t rounds = r->o->repeats;
    enum status s = STATUS_OK;
    for (int kind = 0; !s && kind < TIMES; kind++)
        s = timings_create(&r->times[kind], rounds * (kind < GEMM ? BOUT_STEPS : 2), err);
    for (int o = 0; o < LAPS_OPERATIONS; o++)
        for (int p = 0; !s && p < LAPS_PASSES; p++)
            s = timings_create(&r->laps[o][p], rounds > DETAIL_STEPS ? rounds : DETAIL_STEPS, err);
    return s;
}

/* A step as the trainer does it. Everything but the learning rate is nanoGPT's. */
static enum status step(struct rig *r, struct team team, bool quiet, struct laps *laps, struct error *err)
{
    const struct bench_options *o = r->o;
    struct work *w = &r->work;
    const size_t B = o->batch_size, T = o->config.block_size, N = B * T, size = r->model.table.size;
    const uint32_t *tokens = r->symbols + r->done % BATCHES * (N + 1);
    const struct gpt_pass pass = {.training = true, .quiet = quiet, .seed = SEED, .step = (uint32_t)r->done};
    w->team = team;
    w->laps = laps;
    optimizer_zero_grads(&r->optimizer, size);
    laps_take(&lane_alone, laps, LAPS_NORM, LAPS_FORWARD);
    gpt_forward(&r->model, w, tokens, B, T, &pass);
    gpt_loss(&r->model, w, tokens + 1, B, T);
    const double loss = gpt_mean_loss(w, N);
    gpt_loss_backward(&r->model, w, tokens + 1, (real)(1.0 / (double)N), B, T);
    gpt_backward(&r->model, w, tokens, B, T, &pass, r->optimizer.grads);
    laps_take(&lane_alone, laps, LAPS_WAIT, LAPS_FORWARD);
    const double norm = optimizer_grad_norm(&r->optimizer, size, team);
    laps_take(&lane_alone, laps, LAPS_NORM, LAPS_FORWARD);
    const struct optimizer_step update = {.lr = 1e-5,
                                          .beta1 = 0.9,
                                          .beta2 = 0.99,
                                          .weight_decay = 0.1,
                                          .grad_norm = norm,
                                          .grad_clip = 1,
                                          .number = r->done + 1};
    optimizer_update(&r->optimizer, r->model.params, &r->model.table, &update, team);
    laps_take(&lane_alone, laps, LAPS_ADAMW, LAPS_FORWARD);
    w->team = o->team;
    w->laps = NULL;
    r->done++;
    if (!isfinite(loss) || !isfinite(norm))
        return fail(err, STATUS_NONFINITE, "bench: the loss is %g and the gradient's length %g after %zu steps", loss,
                    norm, r->done);
    return STATUS_OK;
}

/* One measurement is done. */
static enum status tick(struct rig *r, struct error *err)
{
    r->measured++;
    if (r->o->progress && r->o->progress(r->o->context, r->measured, r->to_measure))
        return fail(err, STATUS_INTERRUPTED, "interrupted");
    return STATUS_OK;
}

static enum status bout(struct rig *r, struct timings *t, struct team team, bool quiet, struct error *err)
{
    const double start = clock_seconds();
    double now = start;
    for (size_t i = 0; i == 0 || (i < BOUT_STEPS && now - start < r->o->bout); i++) {
        const double before = now;
        const enum status s = step(r, team, quiet, NULL, err);
        if (s)
            return s;
        now = clock_seconds();
        timings_add(t, now - before);
        if (r->o->stop && r->o->stop(r->o->context))
            return fail(err, STATUS_INTERRUPTED, "interrupted");
    }
    return tick(r, err);
}

/* Steps with the stopwatch on, and reading what attention logged. */
static enum status detailed_bout(struct rig *r, struct error *err)
{
    const double start = clock_seconds();
    const size_t share = DETAIL_STEPS / r->o->repeats;
    for (size_t i = 0; i == 0 || (i < share && clock_seconds() - start < r->o->bout); i++) {
        struct laps laps;
        laps_start(&laps);
        const enum status s = step(r, r->o->team, false, &laps, err);
        if (s)
            return s;
        for (int o = 0; o < LAPS_OPERATIONS; o++)
            for (int p = 0; p < LAPS_PASSES; p++)
                timings_add(&r->laps[o][p], laps.seconds[o][p]);
        const double before = clock_seconds();
        gpt_attention_summary(r->entropy, r->max_score, &r->model, &r->work, r->work.B, r->work.T);
        timings_add(&r->times[SUMMARY], clock_seconds() - before);
    }
    return tick(r, err);
}

static enum status products(struct rig *r, struct error *err)
{
    timings_add(&r->times[GEMM], peak_measure(&r->peak));
    if (r->o->config.precision == PRECISION_BF16)
        timings_add(&r->times[BF16], peak_measure_bf16(&r->peak));
    return tick(r, err);
}

static enum status training_round(struct rig *r, struct error *err)
{
    enum status s = products(r, err);
    if (!s)
        s = bout(r, &r->times[STEP], r->o->team, false, err);
    if (!s)
        s = products(r, err);
    if (s || !r->o->details)
        return s;
    s = bout(r, &r->times[QUIET], r->o->team, true, err);
    if (!s)
        s = detailed_bout(r, err);
    if (!s && r->b->threads > 1)
        s = bout(r, &r->times[ONE_THREAD], (struct team){.threads = 1, .isa = r->o->team.isa}, false, err);
    return s;
}

static enum status generation_round(struct rig *r, struct error *err)
{
    double rate;
    enum status s = pace_within(&rate, &r->pace, r->o->bout / 2, err);
    if (s)
        return s;
    timings_add(&r->times[WITHIN], rate);
    s = pace_past(&rate, &r->pace, r->o->bout / 2, err);
    if (s)
        return s;
    timings_add(&r->times[PAST], rate);
    return tick(r, err);
}

static enum status prepare(struct rig *r, struct error *err)
{
    const struct bench_options *o = r->o;
    (void)memory_forget_peak(); /* where it cannot be, the peak is the process's */
    enum status s = gpt_create(&r->model, &o->config, err);
    if (s)
        return s;
    params_init(r->model.params, &r->model.table, &o->config, SEED);
    r->b->parameters = r->model.table.size;
    r->b->threads = o->team.threads;
    s = make_timings(r, err);
    if (!s && o->steps) {
        s = make_training(r, err);
        if (!s)
            s = step(r, o->team, false, NULL, err); /* a first one is no measure of time, but one of memory */
        if (!s) {
            r->b->tokens = r->work.B * r->work.T;
            r->b->step_flops = bench_step_flops(&r->model.table, &o->config, o->batch_size);
            r->b->arena_bytes = r->model.table.size * sizeof(real) + r->work.arena.size + r->arena.size;
            r->b->peak_bytes = memory_peak();
            s = peak_create(&r->peak, o->gemm_size, o->team, err);
        }
        if (!s)
            peak_measure(&r->peak);
    }
    if (!s && o->generation)
        s = pace_create(&r->pace, &r->model, o->team.isa, err);
    const size_t training = o->steps ? 3 + (o->details ? 2 + (r->b->threads > 1) : 0) : 0;
    r->to_measure = o->repeats * (training + o->generation);
    return s;
}

static double median(struct timings *t)
{
    return t->count ? timings_quantile(t, 0.5) : 0;
}

static void conclude(struct rig *r)
{
    struct bench *b = r->b;
    b->steps = r->times[STEP].count;
    b->step = median(&r->times[STEP]);
    b->step_least = b->steps ? timings_quantile(&r->times[STEP], 0) : 0;
    b->step_low = b->steps ? timings_quantile(&r->times[STEP], 0.25) : 0;
    b->step_high = b->steps ? timings_quantile(&r->times[STEP], 0.75) : 0;
    b->gemm_flops = median(&r->times[GEMM]);
    b->bf16_flops = median(&r->times[BF16]);
    b->one_thread = median(&r->times[ONE_THREAD]);
    b->quiet = median(&r->times[QUIET]);
    b->summary = median(&r->times[SUMMARY]);
    b->within = median(&r->times[WITHIN]);
    b->past = median(&r->times[PAST]);
    for (int o = 0; o < LAPS_OPERATIONS; o++)
        for (int p = 0; p < LAPS_PASSES; p++)
            b->laps.seconds[o][p] = median(&r->laps[o][p]);
}

enum status bench_run(struct bench *b, const struct bench_options *o, struct error *err)
{
    assert(o->repeats > 0 && o->team.threads > 0 && o->batch_size > 0 && o->bout >= 0);
    struct rig *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "bench: out of memory");
    *b = (struct bench){0};
    r->o = o;
    r->b = b;
    enum status s = prepare(r, err);
    for (size_t round = 0; !s && round < o->repeats; round++) {
        if (o->steps)
            s = training_round(r, err);
        if (!s && o->generation)
            s = generation_round(r, err);
    }
    if (!s)
        conclude(r);
    rig_free(r);
    free(r);
    return s;
}
