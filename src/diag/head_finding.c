#include "diag/head_finding.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const NAMES[HEAD_FINDING_KINDS] = {"collapse", "uniform", "frozen", "dead", "duplicate"};

const char *head_finding_name(enum head_finding_kind k)
{
    return NAMES[k];
}

enum head_finding_kind head_finding_of(const char *name)
{
    int k = 0;
    while (k < HEAD_FINDING_KINDS && strcmp(NAMES[k], name) != 0)
        k++;
    return (enum head_finding_kind)k;
}

/* Text that is added to until it is full. */
struct words {
    char *out;
    size_t used;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *w, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(w->out + w->used, HEAD_FINDING_WORDS - w->used, format, values);
    va_end(values);
    if (n > 0)
        w->used += (size_t)n < HEAD_FINDING_WORDS - w->used ? (size_t)n : HEAD_FINDING_WORDS - 1 - w->used;
}

#define PLACES 200 /* bytes that places may take; the figures must follow */

static void add_layer(struct words *w, const struct head_finding *f)
{
    add(w, "layer %zu ", f->layer);
    if (f->count == f->of && f->of > 1) {
        add(w, "all heads");
        return;
    }
    add(w, f->count == 1 ? "head" : "heads");
    for (size_t i = 0; i < f->count && w->used < PLACES; i++)
        add(w, "%s %zu", i ? "," : "", f->head[i]);
    if (w->used >= PLACES)
        add(w, ", ...");
}

/* Whole layers in a row are named together. */
static void add_places(struct words *w, const struct head_finding *f, size_t n)
{
    for (size_t i = 0, next; i < n && w->used < PLACES; i = next) {
        next = i + 1;
        while (next < n && f[i].count == f[i].of && f[next].count == f[next].of &&
               f[next].layer == f[next - 1].layer + 1)
            next++;
        if (i)
            add(w, "; ");
        if (next > i + 1)
            add(w, "layers %zu %s %zu all heads", f[i].layer, next > i + 2 ? "to" : "and", f[next - 1].layer);
        else
            add_layer(w, &f[i]);
        if (next < n && w->used >= PLACES)
            add(w, "; and more");
    }
}

/* What a group comes to: means weighted by heads, and extremes. */
static struct head_finding sum_up(const struct head_finding *f, size_t n)
{
    struct head_finding all = f[0];
    double entropy = 0, before = 0, heads = 0;
    for (size_t i = 0; i < n; i++) {
        entropy += f[i].entropy * (double)f[i].count;
        before += f[i].entropy_before * (double)f[i].count;
        heads += (double)f[i].count;
        all.max_score = fmax(all.max_score, f[i].max_score);
        all.max_score_before = fmin(all.max_score_before, f[i].max_score_before);
        all.share = fmax(all.share, f[i].share);
        all.turn = f[0].kind == HEAD_FINDING_FROZEN ? fmax(all.turn, f[i].turn) : all.turn;
    }
    all.entropy = entropy / heads;
    all.entropy_before = before / heads;
    return all;
}

/* "0.77", "-182". */
static void add_score(struct words *w, double score)
{
    add(w, fabs(score) < 9.95 ? "%.2g" : "%.0f", score);
}

static void add_uniform(struct words *w, const struct head_finding *f)
{
    add(w, "attention still looks at everything alike (entropy %.3f, largest score %.2g)", f->entropy, f->max_score);
    if (f->cause == HEAD_FINDING_STILL)
        add(w, ", as queries and keys do not learn: their weights have not turned at all");
    else if (f->cause == HEAD_FINDING_HOT)
        add(w, ", as scores are %.3g times smaller than q.k / sqrt(head size): a softmax temperature of %.3g",
            f->temperature, f->temperature);
    else
        add(w, ", though the loss falls and the weights of queries and keys have turned by %.2f", f->turn);
}

void head_finding_say(char out[HEAD_FINDING_WORDS], const struct head_finding *f, size_t n)
{
    assert(n > 0);
    struct words w = {out, 0};
    const struct head_finding all = sum_up(f, n);
    add_places(&w, f, n);
    add(&w, ": ");
    switch (f->kind) {
    case HEAD_FINDING_COLLAPSE:
        add(&w, "entropy fell from %.2f to %.2f while the largest score rose from ", all.entropy_before, all.entropy);
        add_score(&w, all.max_score_before);
        add(&w, " to ");
        add_score(&w, all.max_score);
        break;
    case HEAD_FINDING_UNIFORM:
        add_uniform(&w, &all);
        break;
    case HEAD_FINDING_FROZEN:
        add(&w, "queries and keys do not learn: their weights have turned by %.1g at most", all.turn);
        break;
    case HEAD_FINDING_DEAD:
        add(&w, "%s to the model: at most %.1g of what passes by",
            all.count == 1 && n == 1 ? "adds nothing" : "add nothing", all.share);
        break;
    default:
        add(&w, "look at the same places: at most %.1g of a row's weight differs", all.distance);
    }
}

void head_finding_advise(char out[HEAD_FINDING_WORDS], const struct head_finding *f)
{
    struct words w = {out, 0};
    switch (f->kind) {
    case HEAD_FINDING_COLLAPSE:
        add(&w, "lower --lr or lengthen --warmup (the rate is %.3g now)", f->lr);
        break;
    case HEAD_FINDING_UNIFORM:
        if (f->cause == HEAD_FINDING_STILL)
            add(&w, "see that their gradient reaches the optimizer");
        else if (f->cause == HEAD_FINDING_HOT)
            add(&w, "divide scores by sqrt(head size) and by nothing else");
        else
            add(&w, "raise --lr (the rate is %.3g now) or lower --weight-decay, unless the text needs no context",
                f->lr);
        break;
    case HEAD_FINDING_FROZEN:
        add(&w, "see that their gradient reaches the optimizer");
        break;
    case HEAD_FINDING_DEAD:
        add(&w, "begin again with another --seed or fewer heads (--n-head)");
        break;
    default:
        add(&w, "all but one of them are spare: fewer heads (--n-head), or another --seed");
    }
}
