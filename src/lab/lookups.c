#include "lab/lookups.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "lab/drill.h"

enum { ITEMS = LOOKUPS_ITEMS, VALUES = LOOKUPS_VALUES, LENGTH = LOOKUPS_LENGTH, ROWS = LOOKUPS_ROWS };
enum { LOOKS = 8, LOOK_STEP = 1 << 30 }; /* batches of fresh texts at the end, of steps that no training comes to */
#define RATE 3e-3
#define DRAWS 34 /* this lab's own among the draws of RNG_CHECK */

void lookups_draw(struct lookups_text *text, uint64_t seed, uint32_t step, uint32_t row)
{
    const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .step = step, .row = row, .head = DRAWS};
    uint32_t key[ITEMS], position = 0;
    for (uint32_t i = 0; i < ITEMS; i++) { /* a shuffle by Durstenfeld (1964), from inside out */
        const size_t j = (size_t)rng_below(&site, position++, i + 1);
        key[i] = key[j];
        key[j] = i;
    }
    for (size_t i = 0; i < ITEMS; i++)
        text->symbol[i] = key[i] * VALUES + (uint32_t)rng_below(&site, position++, VALUES);
    const uint32_t asked = (uint32_t)rng_below(&site, position, ITEMS);
    text->symbol[ITEMS] = LOOKUPS_QUESTIONS + asked;
    text->by_content = 0;
    while (key[text->by_content] != asked)
        text->by_content++;
    text->by_place = ITEMS - 2;
    text->answer =
        LOOKUPS_ANSWERS + text->symbol[text->by_content] % VALUES * VALUES + text->symbol[text->by_place] % VALUES;
}

/* One model at work. */
struct pupil {
    const struct lookups_options *options;
    struct gpt g;
    struct work w;
    uint64_t seed;
    size_t done, total; /* steps of all trainings */
    struct lookups_text text[ROWS];
    uint32_t tokens[ROWS * LENGTH], targets[ROWS * LENGTH]; /* all targets but the last of a row do not count */
};

static void read_texts(struct pupil *p, uint32_t step)
{
    for (size_t b = 0; b < ROWS; b++) {
        lookups_draw(&p->text[b], p->seed, step, (uint32_t)b);
        memcpy(p->tokens + b * LENGTH, p->text[b].symbol, sizeof p->text[b].symbol);
        p->targets[b * LENGTH + ITEMS] = p->text[b].answer;
    }
}

/* The MLP's last matrix and bias, among parameters or gradients, are 0: what it says is 0, and stays so. */
static void leave_out_mlp(const struct gpt *g, real *values)
{
    static const enum params_kind last[] = {PARAMS_FC_OUT, PARAMS_FC_OUT_BIAS};
    for (size_t i = 0; i < 2; i++) {
        const struct params_tensor *t = params_find(&g->table, last[i], 0);
        memset(values + t->offset, 0, t->rows * t->cols * sizeof *values);
    }
}

/* Mean over the answers, after gpt_loss. */
static double answer_loss(const struct pupil *p)
{
    double sum = 0;
    for (size_t b = 0; b < ROWS; b++)
        sum += (double)p->w.loss[b * LENGTH + ITEMS];
    return sum / ROWS;
}

static double loss_and_gradient(void *self, size_t step, real *grads)
{
    struct pupil *p = self;
    const struct gpt_pass pass = {.training = true, .quiet = true, .step = (uint32_t)step};
    const size_t V = p->g.config.vocab_size;
    read_texts(p, (uint32_t)step);
    gpt_forward(&p->g, &p->w, p->tokens, ROWS, LENGTH, &pass);
    gpt_loss(&p->g, &p->w, p->targets, ROWS, LENGTH);
    const double loss = answer_loss(p);
    gpt_loss_backward(&p->g, &p->w, p->targets, (real)1 / ROWS, ROWS, LENGTH);
    for (size_t b = 0; b < ROWS; b++)
        memset(p->w.logits + b * LENGTH * V, 0, ITEMS * V * sizeof(real));
    gpt_backward(&p->g, &p->w, p->tokens, ROWS, LENGTH, &pass, grads);
    leave_out_mlp(&p->g, grads);
    return loss;
}

static enum status watch(void *context, uint32_t done, struct error *err)
{
    const struct pupil *p = context;
    const struct lookups_options *o = p->options;
    if (o->progress && o->progress(o->context, p->done + done, p->total))
        return fail(err, STATUS_INTERRUPTED, "interrupted");
    return STATUS_OK;
}

/* Among all symbols, not only those that can be an answer. */
static bool is_right(const struct pupil *p, size_t b)
{
    const size_t V = p->g.config.vocab_size;
    const real *logits = p->w.logits + (b * LENGTH + ITEMS) * V;
    for (size_t v = 0; v < V; v++)
        if (v != p->text[b].answer && !(logits[v] < logits[p->text[b].answer]))
            return false;
    return true;
}

/* Adds this batch's weights and entropies of the question's row, of texts whose two items differ; returns how many. */
static size_t watch_heads(struct lookups_head *head, const struct pupil *p)
{
    const size_t H = p->g.config.n_head;
    size_t texts = 0;
    for (size_t b = 0; b < ROWS; b++) {
        const struct lookups_text *text = &p->text[b];
        if (text->by_content == text->by_place)
            continue;
        texts++;
        for (size_t h = 0; h < H; h++) {
            const size_t row = (b * H + h) * LENGTH + ITEMS;
            const real *weights = p->w.block[0].weights + row * LENGTH;
            head[h].by_content += (double)weights[text->by_content];
            head[h].by_place += (double)weights[text->by_place];
            head[h].entropy += (double)p->w.block[0].rows.entropy[row] / log(LENGTH);
        }
    }
    return texts;
}

static void examine(struct lookups_result *r, struct pupil *p)
{
    size_t right = 0, texts = 0;
    double loss = 0;
    for (uint32_t k = 0; k < LOOKS; k++) {
        read_texts(p, LOOK_STEP + k);
        gpt_forward(&p->g, &p->w, p->tokens, ROWS, LENGTH, &gpt_textbook);
        for (size_t b = 0; b < ROWS; b++)
            right += is_right(p, b);
        texts += watch_heads(r->head, p);
        gpt_loss(&p->g, &p->w, p->targets, ROWS, LENGTH);
        loss += answer_loss(p) / LOOKS;
    }
    r->accuracy = (double)right / (LOOKS * ROWS);
    r->loss = loss;
    for (size_t h = 0; h < p->g.config.n_head && texts > 0; h++) {
        r->head[h].by_content /= (double)texts;
        r->head[h].by_place /= (double)texts;
        r->head[h].entropy /= (double)texts;
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const struct lookups_model *m, size_t seeds, double (*of)(const struct lookups_result *))
{
    double x[LOOKUPS_MOST_SEEDS];
    for (size_t k = 0; k < seeds; k++)
        x[k] = of(&m->seed[k]);
    qsort(x, seeds, sizeof *x, by_size);
    return seeds % 2 ? x[seeds / 2] : (x[seeds / 2 - 1] + x[seeds / 2]) / 2;
}

static double accuracy_of(const struct lookups_result *r)
{
    return r->accuracy;
}

static double loss_of(const struct lookups_result *r)
{
    return r->loss;
}

static enum status train_seeds(struct lookups_model *m, struct pupil *p, struct error *err)
{
    const struct lookups_options *o = p->options;
    enum status s = STATUS_OK;
    for (size_t k = 0; !s && k < o->seeds; k++) {
        p->seed = o->seed + k;
        params_init(p->g.params, &p->g.table, &p->g.config, p->seed);
        leave_out_mlp(&p->g, p->g.params);
        const struct learner learner = {.self = p, .loss_and_gradient = loss_and_gradient};
        struct drill d = {.g = &p->g, .w = &p->w, .learner = &learner, .lr = RATE, .watch = watch, .context = p};
        s = drill_run(&d, o->steps, err);
        p->done += o->steps;
        if (!s) {
            examine(&m->seed[k], p);
            m->solved += m->seed[k].accuracy >= LOOKUPS_SOLVED;
        }
    }
    if (!s) {
        m->accuracy = median(m, o->seeds, accuracy_of);
        m->loss = median(m, o->seeds, loss_of);
    }
    return s;
}

static enum status train_model(struct lookups_model *m, struct pupil *p, struct error *err)
{
    const struct config c = config_make(1, m->heads, LOOKUPS_CHANNELS, LENGTH, LOOKUPS_SYMBOLS);
    enum status s = gpt_create(&p->g, &c, err);
    if (s)
        return s;
    m->parameters = p->g.table.size;
    s = work_create(&p->w, &c, ROWS, LENGTH, true, p->options->team, err);
    if (!s) {
        s = work_keep_weights(&p->w, &c, err);
        if (!s)
            s = train_seeds(m, p, err);
        work_free(&p->w);
    }
    gpt_free(&p->g);
    return s;
}

enum status lookups_run(struct lookups *r, const struct lookups_options *o, struct error *err)
{
    assert(o->seeds > 0 && o->seeds <= LOOKUPS_MOST_SEEDS && o->steps > 0 && o->steps < LOOK_STEP);
    *r = (struct lookups){.seeds = o->seeds};
    struct pupil *p = calloc(1, sizeof *p);
    if (!p)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    p->options = o;
    p->total = LOOKUPS_MODELS * o->seeds * o->steps;
    enum status s = STATUS_OK;
    for (size_t i = 0; !s && i < LOOKUPS_MODELS; i++) {
        r->model[i].heads = (size_t)1 << i;
        s = train_model(&r->model[i], p, err);
    }
    free(p);
    return s;
}
