#include "diag/head_watch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define BLOCK_STEPS (HEAD_WATCH_STEPS / HEAD_WATCH_BLOCKS)
#define HOT_LEAST 30
#define NOTHING ((double)NAN)

/* ---- memory ---- */

static void layout(struct head_watch *w)
{
    struct arena *a = &w->arena;
    const size_t n = w->L * w->H;
    for (size_t b = 0; b < HEAD_WATCH_BLOCKS; b++) {
        w->peak[b] = arena_take(a, n, sizeof(double));
        w->lowest[b] = arena_take(a, n, sizeof(double));
    }
    for (size_t k = 0; k < HEAD_FINDING_KINDS; k++)
        w->said[k] = arena_take(a, n, sizeof(bool));
    w->dead_since = arena_take(a, n, sizeof(size_t));
    w->sorted = arena_take(a, n, sizeof(double));
    /* A call finds a kind once a layer; duplicates at most once a head, with one other that was spoken of or with such
     * as were not. */
    w->finding = arena_take(a, HEAD_FINDING_KINDS * n, sizeof *w->finding);
    w->heads = arena_take(a, (size_t)2 * HEAD_FINDING_KINDS * n, sizeof(size_t));
}

enum status head_watch_create(struct head_watch *w, size_t L, size_t H, struct error *err)
{
    assert(L > 0 && H > 0);
    *w = (struct head_watch){.L = L, .H = H, .first_loss = NOTHING};
    layout(w);
    const enum status s = arena_place(&w->arena, err);
    if (!s)
        layout(w);
    return s;
}

void head_watch_free(struct head_watch *w)
{
    arena_free(&w->arena);
    *w = (struct head_watch){0};
}

/* ---- history ---- */

static void remember(struct head_watch *w, const struct head_watch_look *look)
{
    const size_t block = look->step / BLOCK_STEPS + 1, place = block % HEAD_WATCH_BLOCKS;
    const bool fresh = w->block[place] != block;
    w->block[place] = block;
    for (size_t i = 0; i < w->L * w->H; i++) { /* fmax and fmin pass over a NaN */
        double *peak = &w->peak[place][i], *lowest = &w->lowest[place][i];
        *peak = fresh ? look->entropy[i] : fmax(*peak, look->entropy[i]);
        *lowest = fresh ? look->max_score[i] : fmin(*lowest, look->max_score[i]);
    }
    if (isnan(w->first_loss))
        w->first_loss = look->loss;
}

void head_watch_recall(struct head_watch *w, const struct head_watch_look *look)
{
    remember(w, look);
}

/* A collapse is said of a layer; and that uniform heads are so because they are frozen, is both. */
static void mark(struct head_watch *w, enum head_finding_kind kind, size_t layer, size_t head)
{
    const size_t first = layer * w->H;
    w->said[kind][first + head] = true;
    for (size_t h = 0; kind == HEAD_FINDING_COLLAPSE && h < w->H; h++)
        w->said[kind][first + h] = true;
    if (kind == HEAD_FINDING_UNIFORM)
        w->said[HEAD_FINDING_FROZEN][first + head] = true;
}

void head_watch_said(struct head_watch *w, enum head_finding_kind kind, size_t layer, size_t head)
{
    if (kind < HEAD_FINDING_KINDS && layer < w->L && head < w->H)
        mark(w, kind, layer, head);
}

static bool said_of_any(const struct head_watch *w, enum head_finding_kind kind)
{
    for (size_t i = 0; i < w->L * w->H; i++)
        if (w->said[kind][i])
            return true;
    return false;
}

/* ---- findings ---- */

static struct head_finding *find(struct head_watch *w, enum head_finding_kind kind, size_t step, size_t layer)
{
    struct head_finding *f = &w->finding[w->found++];
    *f = (struct head_finding){.kind = kind,
                               .step = step,
                               .layer = layer,
                               .of = w->H,
                               .head = w->heads + w->heads_used,
                               .loss = NOTHING,
                               .lr = NOTHING,
                               .entropy = NOTHING,
                               .entropy_before = NOTHING,
                               .max_score = NOTHING,
                               .max_score_before = NOTHING,
                               .turn = NOTHING,
                               .temperature = NOTHING,
                               .share = NOTHING,
                               .distance = NOTHING};
    return f;
}

static void name_head(struct head_watch *w, struct head_finding *f, size_t h)
{
    w->heads[w->heads_used++] = h;
    f->count++;
    w->said[f->kind][f->layer * w->H + h] = true;
}

typedef bool rule(const struct head_watch *w, const struct head_watch_look *look, size_t i);

/* One finding for each layer in which the rule holds for heads that it was not said of yet. */
static void find_heads(struct head_watch *w, const struct head_watch_look *look, enum head_finding_kind kind,
                       rule *holds)
{
    for (size_t layer = 0; layer < w->L; layer++) {
        struct head_finding *f = NULL;
        for (size_t h = 0; h < w->H; h++) {
            const size_t i = layer * w->H + h;
            if (w->said[kind][i] || !holds(w, look, i))
                continue;
            if (!f)
                f = find(w, kind, look->step, layer);
            f->loss = look->loss;
            f->lr = look->lr;
            name_head(w, f, h);
        }
    }
}

/* The mean, or the largest, of a figure over the heads of a finding. */
static double mean_over(const struct head_watch *w, const struct head_finding *f, const double *x)
{
    double sum = 0;
    for (size_t k = 0; k < f->count; k++)
        sum += x[f->layer * w->H + f->head[k]];
    return sum / (double)f->count;
}

static double largest_over(const struct head_watch *w, const struct head_finding *f, const double *x)
{
    double largest = NOTHING;
    for (size_t k = 0; k < f->count; k++)
        largest = fmax(largest, x[f->layer * w->H + f->head[k]]);
    return largest;
}

/* ---- collapse ---- */

struct extremes {
    double peak, lowest;
};

/* The largest entropy and the smallest largest score of the last HEAD_WATCH_STEPS. */
static struct extremes lately(const struct head_watch *w, size_t step, size_t i)
{
    struct extremes e = {NOTHING, NOTHING};
    const size_t now = step / BLOCK_STEPS + 1;
    for (size_t b = 0; b < HEAD_WATCH_BLOCKS; b++)
        if (w->block[b] > 0 && w->block[b] + HEAD_WATCH_BLOCKS > now) {
            e.peak = fmax(e.peak, w->peak[b][i]);
            e.lowest = fmin(e.lowest, w->lowest[b][i]);
        }
    return e;
}

bool head_watch_narrows(const struct head_watch *w, const struct head_watch_look *look, size_t i)
{
    const struct extremes e = lately(w, look->step, i);
    return look->entropy[i] < HEAD_WATCH_SHARP && look->entropy[i] <= e.peak / 2 && look->max_score[i] >= 4 * e.lowest;
}

static bool collapses(const struct head_watch *w, const struct head_watch_look *look, size_t i)
{
    return look->max_score[i] > HEAD_WATCH_SCORE && head_watch_narrows(w, look, i);
}

static void find_collapse(struct head_watch *w, const struct head_watch_look *look)
{
    const size_t first = w->found;
    find_heads(w, look, HEAD_FINDING_COLLAPSE, collapses);
    for (size_t k = first; k < w->found; k++) {
        struct head_finding *f = &w->finding[k];
        double peak = 0;
        for (size_t n = 0; n < f->count; n++) {
            const struct extremes e = lately(w, look->step, f->layer * w->H + f->head[n]);
            peak += e.peak / (double)f->count;
            f->max_score_before = fmin(f->max_score_before, e.lowest);
        }
        f->entropy_before = peak;
        f->entropy = mean_over(w, f, look->entropy);
        f->max_score = largest_over(w, f, look->max_score);
        mark(w, HEAD_FINDING_COLLAPSE, f->layer, f->head[0]);
    }
}

/* ---- dead, frozen ---- */

/* Lasting for HEAD_WATCH_LEAST steps, whatever probes there were in between. */
static void note_dead(struct head_watch *w, const struct head_watch_look *look)
{
    const double *share = look->probe->share;
    for (size_t layer = 0; layer < w->L; layer++) {
        double mean = 0;
        for (size_t h = 0; h < w->H; h++)
            mean += share[layer * w->H + h] / (double)w->H;
        for (size_t i = layer * w->H; i < (layer + 1) * w->H; i++) {
            const bool dead = !w->said[HEAD_FINDING_COLLAPSE][i] && share[i] < HEAD_WATCH_DEAD &&
                              (w->H == 1 || share[i] <= mean / 100);
            if (!dead)
                w->dead_since[i] = 0;
            else if (w->dead_since[i] == 0)
                w->dead_since[i] = look->step + 1;
        }
    }
}

static bool is_dead(const struct head_watch *w, const struct head_watch_look *look, size_t i)
{
    return w->dead_since[i] > 0 && look->step + 1 - w->dead_since[i] >= HEAD_WATCH_LEAST;
}

static void find_dead(struct head_watch *w, const struct head_watch_look *look)
{
    const size_t first = w->found;
    note_dead(w, look);
    find_heads(w, look, HEAD_FINDING_DEAD, is_dead);
    for (size_t k = first; k < w->found; k++)
        w->finding[k].share = largest_over(w, &w->finding[k], look->probe->share);
}

/* A head that looks at one key alone (entropy NaN), or that nothing is taken from, has nothing to learn by. */
static bool is_frozen(const struct head_watch *w, const struct head_watch_look *look, size_t i)
{
    const struct head_watch_probe *p = look->probe;
    return w->looks >= HEAD_WATCH_LEAST && !isnan(look->entropy[i]) && w->dead_since[i] == 0 && p->due[i] >= 0.01 &&
           p->turn[i] < HEAD_WATCH_STILL * fmin(p->due[i], 1); /* there is no turn above 1 */
}

static void find_frozen(struct head_watch *w, const struct head_watch_look *look)
{
    const size_t first = w->found;
    find_heads(w, look, HEAD_FINDING_FROZEN, is_frozen);
    for (size_t k = first; k < w->found; k++) {
        struct head_finding *f = &w->finding[k];
        f->turn = largest_over(w, f, look->probe->turn);
        f->entropy = mean_over(w, f, look->entropy);
        f->max_score = largest_over(w, f, look->max_score);
    }
}

/* ---- uniform ---- */

static bool is_uniform(const struct head_watch *w, const struct head_watch_look *look, size_t i)
{
    (void)w;
    return look->entropy[i] >= HEAD_WATCH_UNIFORM;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of what is known of x over the uniform heads; NaN where nothing is. */
static double median_uniform(struct head_watch *w, const struct head_watch_look *look, const double *x)
{
    size_t n = 0;
    for (size_t i = 0; i < w->L * w->H; i++)
        if (is_uniform(w, look, i) && !isnan(x[i]))
            w->sorted[n++] = x[i];
    qsort(w->sorted, n, sizeof *w->sorted, by_value);
    return n ? w->sorted[n / 2] : NOTHING;
}

static bool mostly_uniform(const struct head_watch *w, const struct head_watch_look *look)
{
    size_t seen = 0, uniform = 0;
    for (size_t i = 0; i < w->L * w->H; i++) {
        seen += isnan(look->entropy[i]) ? 0 : 1;
        uniform += is_uniform(w, look, i);
    }
    return seen > 0 && 10 * uniform >= 9 * seen;
}

static enum head_finding_cause why_uniform(struct head_watch *w, const struct head_watch_look *look)
{
    bool still = true;
    for (size_t i = 0; i < w->L * w->H; i++)
        still = still && (!is_uniform(w, look, i) || is_frozen(w, look, i));
    if (still)
        return HEAD_FINDING_STILL;
    if (w->looks >= HOT_LEAST && median_uniform(w, look, look->probe->temperature) >= HEAD_WATCH_HOT)
        return HEAD_FINDING_HOT;
    const bool turned = median_uniform(w, look, look->probe->turn) >= HEAD_WATCH_TURN;
    return turned && look->loss <= 0.9 * w->first_loss ? HEAD_FINDING_FLAT : HEAD_FINDING_NO_CAUSE;
}

static void find_uniform(struct head_watch *w, const struct head_watch_look *look)
{
    if (said_of_any(w, HEAD_FINDING_UNIFORM) || !mostly_uniform(w, look))
        return;
    const enum head_finding_cause cause = why_uniform(w, look);
    if (cause == HEAD_FINDING_NO_CAUSE)
        return;
    const size_t first = w->found;
    const double turn = median_uniform(w, look, look->probe->turn),
                 temperature = median_uniform(w, look, look->probe->temperature);
    find_heads(w, look, HEAD_FINDING_UNIFORM, is_uniform);
    for (size_t k = first; k < w->found; k++) {
        struct head_finding *f = &w->finding[k];
        f->cause = cause;
        f->turn = turn;
        f->temperature = temperature;
        f->entropy = mean_over(w, f, look->entropy);
        f->max_score = largest_over(w, f, look->max_score);
        for (size_t n = 0; n < f->count; n++)
            mark(w, HEAD_FINDING_UNIFORM, f->layer, f->head[n]);
    }
}

/* ---- a look ---- */

static void begin(struct head_watch *w)
{
    w->found = w->heads_used = 0;
}

void head_watch_step(struct head_watch *w, const struct head_watch_look *look)
{
    begin(w);
    find_collapse(w, look);
    remember(w, look);
    w->looks++;
    if (!look->probe)
        return;
    find_dead(w, look);
    find_uniform(w, look); /* before frozen, which it may be the reason of */
    find_frozen(w, look);
}

/* Two heads of a layer by their distances; i = layer H + a, and b counts within the layer. */
struct pairs {
    const double *distance, *from_uniform;
    size_t H;
};

static bool same_map(const struct pairs *p, size_t i, size_t b)
{
    const double d = p->distance[i * p->H + b], other = p->from_uniform[i - i % p->H + b];
    const double least = fmin(p->from_uniform[i], other);
    return b != i % p->H && least >= HEAD_WATCH_APART && d <= HEAD_WATCH_SAME && d <= least / 10;
}

/* All heads that are like this one and were not spoken of; else one that was. */
static void find_like(struct head_watch *w, const struct pairs *p, size_t step, size_t i)
{
    const size_t layer = i / w->H, first = layer * w->H;
    bool *said = w->said[HEAD_FINDING_DUPLICATE];
    size_t fresh = 0, spoken_of = w->H;
    for (size_t b = 0; b < w->H; b++)
        if (same_map(p, i, b)) {
            fresh += said[first + b] ? 0 : 1;
            spoken_of = said[first + b] ? b : spoken_of;
        }
    if (fresh == 0 && spoken_of == w->H)
        return;
    struct head_finding *f = find(w, HEAD_FINDING_DUPLICATE, step, layer);
    f->distance = 0;
    for (size_t b = 0; b < w->H; b++) {
        const bool other = same_map(p, i, b) && (fresh ? !said[first + b] : b == spoken_of);
        if (other)
            f->distance = fmax(f->distance, p->distance[i * w->H + b]);
        if (other || first + b == i)
            name_head(w, f, b);
    }
}

void head_watch_maps(struct head_watch *w, size_t step, const double *distance, const double *from_uniform)
{
    const struct pairs p = {distance, from_uniform, w->H};
    begin(w);
    for (size_t i = 0; i < w->L * w->H; i++)
        if (!w->said[HEAD_FINDING_DUPLICATE][i] && !w->said[HEAD_FINDING_COLLAPSE][i])
            find_like(w, &p, step, i);
}
