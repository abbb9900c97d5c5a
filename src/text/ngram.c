#include "text/ngram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define NOWHERE UINT32_MAX
#define STRETCHES 16

static enum status out_of_memory(const struct ngram *m, struct error *err)
{
    return fail(err, STATUS_MEMORY, "n-grams: memory for more than %zu strings was refused", m->count);
}

void ngram_free(struct ngram *m)
{
    free(m->node);
    free(m->slot);
    *m = (struct ngram){0};
}

enum status ngram_create(struct ngram *m, size_t vocab_size, struct error *err)
{
    assert(vocab_size > 0);
    *m = (struct ngram){.vocab_size = vocab_size, .count = 1, .room = 1024, .slots = 4096};
    m->node = calloc(m->room, sizeof *m->node);
    m->slot = calloc(m->slots, sizeof *m->slot);
    if (m->node && m->slot)
        return STATUS_OK;
    ngram_free(m);
    return out_of_memory(m, err);
}

/* Where the string is, or where it would go. */
static size_t place(const struct ngram *m, uint32_t parent, uint32_t symbol)
{
    uint64_t x = ((uint64_t)parent << 32 | symbol) * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 32;
    for (size_t i = (size_t)x & (m->slots - 1);; i = (i + 1) & (m->slots - 1)) {
        const uint32_t n = m->slot[i];
        if (n == 0 || (m->node[n].parent == parent && m->node[n].symbol == symbol))
            return i;
    }
}

static uint32_t find(const struct ngram *m, uint32_t parent, uint32_t symbol)
{
    const uint32_t n = parent == NOWHERE ? 0 : m->slot[place(m, parent, symbol)];
    return n ? n : NOWHERE;
}

/* Room for one more string, the table at most half full. */
static enum status grow(struct ngram *m, struct error *err)
{
    if (m->count == m->room) {
        struct ngram_node *node =
            m->count < NOWHERE / 2 ? realloc(m->node, 2 * m->room * sizeof *node) : NULL; /* ids have 32 bits */
        if (!node)
            return out_of_memory(m, err);
        m->node = node;
        m->room *= 2;
    }
    if (2 * m->count < m->slots)
        return STATUS_OK;
    uint32_t *slot = calloc(2 * m->slots, sizeof *slot);
    if (!slot)
        return out_of_memory(m, err);
    free(m->slot);
    m->slot = slot;
    m->slots *= 2;
    for (uint32_t n = 1; n < m->count; n++)
        slot[place(m, m->node[n].parent, m->node[n].symbol)] = n;
    return STATUS_OK;
}

/* One more `symbol` after the string `parent`; *n is what they make together. */
static enum status see(struct ngram *m, uint32_t *n, uint32_t parent, uint32_t symbol, struct error *err)
{
    size_t i = place(m, parent, symbol);
    if (m->slot[i] == 0) {
        const enum status s = grow(m, err);
        if (s)
            return s;
        i = place(m, parent, symbol);
        m->slot[i] = (uint32_t)m->count;
        m->node[m->count++] = (struct ngram_node){.parent = parent, .symbol = symbol};
        m->node[parent].distinct++;
    }
    *n = m->slot[i];
    m->node[*n].count++;
    m->node[parent].followed++;
    return STATUS_OK;
}

enum status ngram_count(struct ngram *m, const struct dataset *d, size_t begin, size_t end, struct error *err)
{
    assert(m->slot);
    uint32_t last[NGRAM_ORDERS + 1] = {0}; /* the string of the last k symbols */
    size_t known = 0;                      /* of which so many are at hand */
    for (size_t i = begin; i < end; i++) {
        const uint32_t symbol = dataset_id(d, i);
        for (size_t k = known + 1; k-- > 0;) {
            const enum status s = see(m, &last[k + 1], last[k], symbol, err);
            if (s)
                return s;
        }
        known += known < NGRAM_ORDERS - 1;
    }
    return STATUS_OK;
}

/* p_n from p_{n-1}, for what follows the string `context`. `whole` is that string with the symbol, or NOWHERE. */
static double interpolate(const struct ngram *m, uint32_t context, uint32_t whole, double lower)
{
    const struct ngram_node *h = context == NOWHERE ? NULL : &m->node[context];
    if (!h || h->followed == 0)
        return lower;
    const double c = whole == NOWHERE ? 0 : m->node[whole].count, D = h->distinct;
    return (c + D * lower) / (h->followed + D);
}

double ngram_probability(const struct ngram *m, const uint32_t *context, size_t n, uint32_t symbol)
{
    assert(n >= 1 && n <= NGRAM_ORDERS);
    double p = 1.0 / (double)m->vocab_size;
    for (size_t k = 0; k < n; k++) {
        uint32_t h = 0;
        for (size_t i = n - 1 - k; i < n - 1; i++)
            h = find(m, h, context[i]);
        p = interpolate(m, h, find(m, h, symbol), p);
    }
    return p;
}

/* Sums over targets, for each order: of x and of x^2. */
struct sums {
    double loss[NGRAM_ORDERS], square[NGRAM_ORDERS], gain_square[NGRAM_ORDERS];
    size_t n;
};

static void read_stretch(struct sums *t, const struct ngram *m, const struct dataset *d, size_t begin, size_t end)
{
    uint32_t last[NGRAM_ORDERS + 1]; /* as in ngram_count, NOWHERE when it was never seen or is not at hand */
    for (size_t k = 1; k <= NGRAM_ORDERS; k++)
        last[k] = NOWHERE;
    last[0] = 0;
    for (size_t i = begin; i < end; i++) {
        const uint32_t symbol = dataset_id(d, i);
        uint32_t next[NGRAM_ORDERS + 1] = {0};
        double p = 1.0 / (double)m->vocab_size, first = 0;
        for (size_t k = 0; k < NGRAM_ORDERS; k++) {
            next[k + 1] = find(m, last[k], symbol);
            p = interpolate(m, last[k], next[k + 1], p);
            const double loss = -log(p);
            first = k == 0 ? loss : first;
            if (i == begin)
                continue; /* read only */
            t->loss[k] += loss;
            t->square[k] += loss * loss;
            t->gain_square[k] += (loss - first) * (loss - first);
        }
        t->n += i > begin;
        for (size_t k = 1; k <= NGRAM_ORDERS; k++)
            last[k] = next[k];
    }
}

static double standard_error(double sum, double square, double n)
{
    const double mean = sum / n;
    return n > 1 ? sqrt(fmax(square / n - mean * mean, 0) / (n - 1)) : (double)NAN;
}

/* Stretch i of a part: all of it in one, or one of 16. False when there is no such stretch. */
static bool stretch(size_t *begin, size_t *end, size_t i)
{
    const size_t n = *end - *begin, length = NGRAM_MOST / STRETCHES;
    if (n <= NGRAM_MOST)
        return i == 0;
    *begin += (n - length) / (STRETCHES - 1) * i;
    *end = *begin + length;
    return i < STRETCHES;
}

static enum status measure(struct ngram_losses *l, struct ngram *m, const struct dataset *d, struct error *err)
{
    size_t begin, end;
    for (size_t i = 0; dataset_bounds(d, DATASET_TRAIN, &begin, &end), l->train = end - begin, stretch(&begin, &end, i);
         i++) {
        const enum status s = ngram_count(m, d, begin, end, err);
        if (s)
            return s;
        l->counted += end - begin;
    }
    struct sums t = {0};
    for (size_t i = 0; dataset_bounds(d, DATASET_VAL, &begin, &end), l->val = end - begin, stretch(&begin, &end, i);
         i++)
        read_stretch(&t, m, d, begin, end);
    l->read = t.n;
    const double n = (double)t.n;
    for (size_t k = 0; k < NGRAM_ORDERS; k++) {
        l->loss[k] = t.n ? t.loss[k] / n : (double)NAN;
        l->error[k] = standard_error(t.loss[k], t.square[k], n);
        l->gain_error[k] = standard_error(t.loss[k] - t.loss[0], t.gain_square[k], n);
    }
    return STATUS_OK;
}

enum status ngram_measure(struct ngram_losses *l, const struct dataset *d, size_t vocab_size, struct error *err)
{
    struct ngram m;
    *l = (struct ngram_losses){0};
    enum status s = ngram_create(&m, vocab_size, err);
    if (!s)
        s = measure(l, &m, d, err);
    ngram_free(&m);
    return s;
}
