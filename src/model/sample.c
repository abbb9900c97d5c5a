#include "model/sample.h"

#include <assert.h>
#include <math.h>

#include "base/rng.h"

struct sample_options sample_defaults(void)
{
    return (struct sample_options){.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 0};
}

/* Written so that a NaN fails every comparison and is refused with the rest. */
static bool temperature_ok(double t)
{
    return t >= 0 && t <= DBL_MAX;
}

static bool share_ok(double p)
{
    return p >= 0 && p <= 1;
}

enum status sample_check(const struct sample_options *o, struct error *err)
{
    if (!temperature_ok(o->temperature))
        return fail(err, STATUS_RANGE, "temperature: found %g, expected a finite number, 0 or more", o->temperature);
    if (!share_ok(o->top_p))
        return fail(err, STATUS_RANGE, "top-p: found %g, expected 0 to 1 (1 is off)", o->top_p);
    if (!share_ok(o->min_p))
        return fail(err, STATUS_RANGE, "min-p: found %g, expected 0 to 1 (0 is off)", o->min_p);
    return STATUS_OK;
}

void sample_layout(struct sample_scratch *s, struct arena *a, size_t V)
{
    s->weight = arena_take(a, V, sizeof *s->weight);
    s->order = arena_take(a, V, sizeof *s->order);
}

/* The one order of symbols: heavier first, then lower id. */
static bool before(const double *weight, uint32_t a, uint32_t b)
{
    return weight[a] > weight[b] || (weight[a] == weight[b] && a < b);
}

/* Restores the heap below `root`: no symbol comes before its parent. */
static void sift_down(uint32_t *heap, size_t n, size_t root, const double *weight)
{
    for (;;) {
        size_t first = root;
        for (size_t child = 2 * root + 1; child <= 2 * root + 2 && child < n; child++)
            if (before(weight, heap[child], heap[first]))
                first = child;
        if (first == root)
            return;
        const uint32_t moved = heap[root];
        heap[root] = heap[first];
        heap[first] = moved;
        root = first;
    }
}

static uint32_t pop(uint32_t *heap, size_t *n, const double *weight)
{
    const uint32_t top = heap[0];
    heap[0] = heap[--*n];
    sift_down(heap, *n, 0, weight);
    return top;
}

/* The last symbol that survives top-k, top-p and min-p. Each of the three keeps a prefix of the same order, so
 * one symbol says it all; a heap finds that prefix without sorting the rest. `best` is the heaviest symbol. */
static uint32_t last_kept(const double *weight, uint32_t *order, size_t V, const struct sample_options *o,
                          uint32_t best)
{
    const size_t k = o->top_k == 0 || o->top_k > V ? V : o->top_k;
    for (size_t i = 0; i < V; i++)
        order[i] = (uint32_t)i;
    size_t n = V;
    for (size_t i = V / 2; i-- > 0;)
        sift_down(order, n, i, weight);

    double total = 0;
    if (k == V) {
        for (size_t i = 0; i < V; i++)
            total += weight[i];
    } else {
        /* The k heaviest leave the heap once for their sum; the slots they free keep them for the second walk. */
        for (size_t i = 0; i < k; i++) {
            const uint32_t id = pop(order, &n, weight);
            order[n] = id;
            total += weight[id];
        }
    }

    double sum = 0;
    uint32_t last = best;
    for (size_t i = 0; i < k; i++) {
        const uint32_t id = k == V ? pop(order, &n, weight) : order[V - 1 - i];
        if (i > 0 && weight[id] < o->min_p) /* weight[best] is exactly 1 */
            break;
        last = id;
        sum += weight[id];
        if (o->top_p < 1 && sum >= o->top_p * total)
            break;
    }
    return last;
}

enum status sample_choose(uint32_t *id, const real *logits, size_t V, const struct sample_options *o, uint32_t sample,
                          uint32_t position, struct sample_scratch *scratch, struct error *err)
{
    assert(V > 0 && V <= UINT32_MAX);
    assert(temperature_ok(o->temperature) && share_ok(o->top_p) && share_ok(o->min_p));
    const bool *never = o->never;
    uint32_t best = 0;
    while (never && best + 1 < V && never[best])
        best++;
    assert(!never || !never[best]);
    for (size_t i = 0; i < V; i++) {
        if (!isfinite(logits[i]))
            return fail(err, STATUS_NONFINITE,
                        "the logit of symbol %zu is %g at symbol %lu of the text: the model's weights are damaged", i,
                        (double)logits[i], (unsigned long)position);
        if (logits[i] > logits[best] && !(never && never[i]))
            best = (uint32_t)i;
    }
    if (o->temperature < SAMPLE_COLDEST) {
        *id = best;
        return STATUS_OK;
    }

    double *weight = scratch->weight;
    for (size_t i = 0; i < V; i++)
        weight[i] = never && never[i] ? 0 : exp(((double)logits[i] - (double)logits[best]) / o->temperature);

    const bool whole = (o->top_k == 0 || o->top_k >= V) && o->top_p >= 1 && o->min_p <= 0;
    const uint32_t last = whole ? best : last_kept(weight, scratch->order, V, o, best);
    double total = 0;
    for (size_t i = 0; i < V; i++) {
        if (!whole && before(weight, last, (uint32_t)i))
            weight[i] = 0;
        total += weight[i];
    }

    const struct rng_site site = {.seed = o->seed, .purpose = RNG_SAMPLE, .row = sample};
    const double target = rng_uniform(&site, position) * total;
    /* A symbol without weight never passes the strict comparison; `best` stands for a rounded last digit. */
    uint32_t chosen = best;
    double sum = 0;
    for (size_t i = 0; i < V; i++) {
        sum += weight[i];
        if (target < sum) {
            chosen = (uint32_t)i;
            break;
        }
    }
    *id = chosen;
    return STATUS_OK;
}
