#include "lab/spoiled.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/head_watch.h"
#include "lab/drill.h"
#include "lab/specimen.h"
#include "train/gpt_learner.h"
#include "train/schedule.h"
#include "train/watching.h"

enum { TEXT = 300000 };

const char *spoiled_name(enum spoiled_kind kind)
{
    static const char *const names[] = {"good", "lr x30", "frozen q, k", "temperature 20"};
    return names[kind];
}

/* One run as it goes. */
struct pupil {
    const struct spoiled_options *options;
    struct spoiled_training *run;
    size_t before, total; /* steps of the runs before, and of all */
    struct gpt *g;
    struct gpt_learner learner;
    struct watching watching;
    struct drill drill;
    struct schedule schedule;
    real *first; /* (table.size): the weights it began with */
    double *sorted;
};

/* ---- spoiling ---- */

/* Columns of W_Q and W_K, and b_Q and b_K, are the first two thirds of each row of qkv. */
static void put_back(struct pupil *p)
{
    const struct config *c = &p->g->config;
    const enum params_kind kinds[] = {PARAMS_QKV, PARAMS_QKV_BIAS};
    for (size_t i = 0; i < 2 * c->n_layer; i++) {
        const struct params_tensor *t = params_find(&p->g->table, kinds[i % 2], i / 2);
        for (size_t row = 0; t->present && row < t->rows; row++) {
            const size_t at = t->offset + row * t->cols;
            memcpy(p->g->params + at, p->first + at, t->cols / 3 * 2 * sizeof(real));
        }
    }
}

static void set_rate(void *context, uint32_t step)
{
    struct pupil *p = context;
    p->drill.lr = schedule_rate(&p->schedule, step);
}

/* ---- looking on ---- */

static void keep_verdicts(struct pupil *p)
{
    struct spoiled_training *r = p->run;
    const struct head_watch *w = &p->watching.watch;
    for (size_t i = 0, next; i < w->found; i = next) {
        for (next = i + 1; next < w->found && w->finding[next].kind == w->finding[i].kind; next++)
            ;
        if (r->verdicts < SPOILED_VERDICTS) {
            struct spoiled_verdict *v = &r->verdict[r->verdicts];
            v->step = w->finding[i].step;
            v->loss = p->drill.loss;
            v->kind = w->finding[i].kind;
            v->cause = w->finding[i].cause;
            head_finding_say(v->says, &w->finding[i], next - i);
        }
        r->verdicts++;
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct pupil *p, const double *x, size_t n)
{
    memcpy(p->sorted, x, n * sizeof *x);
    qsort(p->sorted, n, sizeof *x, by_value);
    return p->sorted[n / 2];
}

/* Before the watch has seen this update: its history is of those before. */
static void measure_fall(struct pupil *p, uint32_t done)
{
    const struct head_watch *w = &p->watching.watch;
    const struct head_watch_look look = {
        .step = done, .entropy = p->learner.entropy, .max_score = p->learner.max_score};
    for (size_t i = 0; i < w->L * w->H; i++)
        if (head_watch_narrows(w, &look, i))
            p->run->margins.score = fmax(p->run->margins.score, look.max_score[i]);
}

static void measure_probe(struct pupil *p, uint32_t done)
{
    const struct head_probe *probe = &p->watching.probe;
    struct spoiled_margins *m = &p->run->margins;
    const size_t n = probe->L * probe->H;
    size_t uniform = 0;
    for (size_t i = 0; i < n; i++) {
        uniform += p->learner.entropy[i] >= HEAD_WATCH_UNIFORM;
        if (done < HEAD_WATCH_LEAST)
            continue;
        m->moved = fmin(m->moved, probe->turn[i] / fmin(probe->due[i], 1));
        m->share = fmin(m->share, probe->share[i]);
    }
    if (10 * uniform >= 9 * n)
        m->turn = median(p, probe->turn, n);
    m->temperature = median(p, probe->temperature, n);
}

static void measure_maps(struct pupil *p)
{
    const struct head_probe *probe = &p->watching.probe;
    double *least = &p->run->margins.distance;
    for (size_t layer = 0; layer < probe->L; layer++)
        for (size_t a = 0; a < probe->H; a++)
            for (size_t b = a + 1; b < probe->H; b++) {
                const size_t i = layer * probe->H + a, j = layer * probe->H + b;
                if (fmin(probe->from_uniform[i], probe->from_uniform[j]) >= HEAD_WATCH_APART)
                    *least = fmin(*least, probe->distance[i * probe->H + b]);
            }
}

static enum status look(struct pupil *p, uint32_t done, struct error *err)
{
    struct spoiled_training *r = p->run;
    gpt_learner_attention(&p->learner);
    measure_fall(p, done);
    watching_step(&p->watching, &p->learner, done, p->drill.loss, p->drill.lr);
    keep_verdicts(p);
    if (done % WATCHING_PROBE == 0)
        measure_probe(p, done);
    if (done == 1)
        r->first_loss = p->drill.loss;
    r->last_loss = p->drill.loss;
    if (r->above == 0 && p->drill.loss > 1.1 * r->first_loss)
        r->above = done;
    if (done % SPOILED_EVERY != 0)
        return STATUS_OK;
    const enum status s = watching_maps(&p->watching, &p->learner, done, err);
    if (s)
        return s;
    keep_verdicts(p);
    measure_maps(p);
    return STATUS_OK;
}

static enum status watch(void *context, uint32_t done, struct error *err)
{
    struct pupil *p = context;
    const struct spoiled_options *o = p->options;
    if (o->progress && o->progress(o->context, p->before + done, p->total))
        return fail(err, STATUS_INTERRUPTED, "interrupted");
    p->run->nonfinite = done + 1; /* should the next be so */
    if (done == 0)
        return STATUS_OK;
    if (p->run->kind == SPOILED_FROZEN)
        put_back(p);
    return look(p, done, err);
}

/* ---- runs ---- */

static bool is_right(const struct spoiled_training *r)
{
    if (r->kind == SPOILED_NOT)
        return r->verdicts == 0;
    for (size_t k = 0; k < r->verdicts && k < SPOILED_VERDICTS; k++) {
        const struct spoiled_verdict *v = &r->verdict[k];
        const bool uniform = v->kind == HEAD_FINDING_UNIFORM;
        if ((r->kind == SPOILED_FAST && v->kind == HEAD_FINDING_COLLAPSE) ||
            (r->kind == SPOILED_FROZEN && uniform && v->cause == HEAD_FINDING_STILL) ||
            (r->kind == SPOILED_FROZEN && v->kind == HEAD_FINDING_FROZEN) ||
            (r->kind == SPOILED_HOT && uniform && v->cause == HEAD_FINDING_HOT))
            return true; /* what is found is found before a loss that is not finite, which ends the run */
    }
    return false;
}

static enum status train(struct pupil *p, struct error *err)
{
    const struct spoiled_options *o = p->options;
    struct spoiled_training *r = p->run;
    const double lr = SPOILED_RATE * (r->kind == SPOILED_FAST ? SPOILED_TIMES : 1);
    p->schedule = (struct schedule){.lr = lr, .min_lr = lr / 100, .warmup = o->steps / 10, .steps = o->steps};
    params_init(p->g->params, &p->g->table, &p->g->config, r->seed);
    memcpy(p->first, p->g->params, p->g->table.size * sizeof(real));
    p->g->attention_scale =
        r->kind == SPOILED_HOT ? 1 / (SPOILED_TEMPERATURE * sqrt((double)p->g->config.head_size)) : 0;
    r->margins = (struct spoiled_margins){.moved = INFINITY, .share = INFINITY, .distance = INFINITY};
    p->learner.seed = r->seed;
    enum status s = watching_open(&p->watching, p->g, err);
    if (s)
        return s;
    const struct learner learner = gpt_learner_interface(&p->learner);
    p->drill = (struct drill){.g = p->g,
                              .w = p->learner.work,
                              .data = p->learner.data,
                              .learner = &learner,
                              .renew = set_rate,
                              .watch = watch,
                              .context = p};
    s = drill_run(&p->drill, o->steps, err);
    watching_close(&p->watching);
    if (s == STATUS_NONFINITE && r->kind == SPOILED_FAST)
        s = STATUS_OK;
    else if (!s)
        r->nonfinite = 0;
    r->right = is_right(r);
    return s;
}

static enum status train_all(struct spoiled *r, struct pupil *p, struct error *err)
{
    const struct spoiled_options *o = p->options;
    enum status s = STATUS_OK;
    for (size_t i = 0; !s && i < r->runs; i++) {
        const size_t bad = i - o->trials; /* used where i >= o->trials */
        p->run = &r->run[i];
        p->run->kind = i < o->trials ? SPOILED_NOT : (enum spoiled_kind)(SPOILED_FAST + bad / o->spoilt);
        p->run->seed = o->seed + (i < o->trials ? i : bad % o->spoilt);
        p->before = i * o->steps;
        s = train(p, err);
        if (i < o->trials)
            r->good_right += p->run->right;
        else
            r->bad_right += p->run->right;
    }
    return s;
}

static enum status run_on(struct spoiled *r, const struct spoiled_options *o, const struct dataset *data, size_t V,
                          struct error *err)
{
    const struct config c = config_make(SPOILED_LAYERS, SPOILED_HEADS, SPOILED_CHANNELS, SPOILED_CONTEXT, V);
    struct gpt g = {.params = NULL};
    struct work w = {.B = 0};
    struct pupil p = {.options = o, .total = r->runs * o->steps, .g = &g};
    enum status s = dataset_check(data, SPOILED_CONTEXT, err);
    if (!s)
        s = gpt_create(&g, &c, err);
    if (s)
        return s;
    s = work_create(&w, &c, SPOILED_ROWS, SPOILED_CONTEXT, true, o->team, err);
    if (!s) {
        p.learner = (struct gpt_learner){.model = &g, .work = &w, .data = data, .grad_accum = 1};
        s = gpt_learner_create(&p.learner, err);
        p.first = malloc(g.table.size * sizeof *p.first);
        p.sorted = malloc((size_t)SPOILED_LAYERS * SPOILED_HEADS * sizeof *p.sorted);
        if (!s)
            s = p.first && p.sorted ? train_all(r, &p, err) : fail(err, STATUS_MEMORY, "lab: out of memory");
        free(p.sorted);
        free(p.first);
        gpt_learner_free(&p.learner);
        work_free(&w);
    }
    gpt_free(&g);
    return s;
}

static enum status run_on_corpus(struct spoiled *r, const struct spoiled_options *o, struct error *err)
{
    struct specimen_text text;
    enum status s = specimen_text_make(&text, o->seed, TEXT, err);
    if (s)
        return s;
    s = run_on(r, o, &text.data, text.tokenizer.size, err);
    specimen_text_free(&text);
    return s;
}

enum status spoiled_run(struct spoiled *r, const struct spoiled_options *o, struct error *err)
{
    assert(o->trials > 0 && o->spoilt > 0 && o->steps >= SPOILED_LEAST);
    const size_t bad = (SPOILED_KINDS - 1) * o->spoilt;
    *r = (struct spoiled){.runs = o->trials + bad, .good = o->trials, .bad = bad};
    r->run = calloc(r->runs, sizeof *r->run);
    if (!r->run)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    const enum status s = o->data ? run_on(r, o, o->data, o->vocab_size, err) : run_on_corpus(r, o, err);
    if (s)
        spoiled_free(r);
    return s;
}

void spoiled_free(struct spoiled *r)
{
    free(r->run);
    *r = (struct spoiled){0};
}
