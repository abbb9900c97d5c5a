/* Vocabularies whose ids have an order of their own, and ids that stand for nothing; declared in tokenizer.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

/* An id beside what it stands for. */
struct pair {
    uint32_t symbol, id;
};

static int by_symbol(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->symbol != b->symbol)
        return a->symbol < b->symbol ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

size_t tokenizer_count(const struct tokenizer *t)
{
    return t->order ? t->known : t->size;
}

bool tokenizer_knows(const struct tokenizer *t, uint32_t id)
{
    assert(id < t->size);
    return !t->symbol || t->symbol[id] != TOKENIZER_NOTHING;
}

static bool ascends(const uint32_t *symbol, size_t V)
{
    for (size_t i = 1; i < V; i++)
        if (symbol[i] <= symbol[i - 1])
            return false;
    return symbol[V - 1] != TOKENIZER_NOTHING;
}

/* The ids that stand for something, sorted; `pairs` is (V). */
static enum status sort_order(uint32_t *order, size_t *known, struct pair *pairs, const uint32_t *symbol, size_t V,
                              enum tokenizer_kind kind, const char *name, struct error *err)
{
    size_t n = 0;
    for (size_t id = 0; id < V; id++)
        if (symbol[id] != TOKENIZER_NOTHING)
            pairs[n++] = (struct pair){.symbol = symbol[id], .id = (uint32_t)id};
    if (n == 0)
        return fail(err, STATUS_FORMAT, "%s: no id of the vocabulary stands for a single %s", name,
                    tokenizer_unit(kind));
    qsort(pairs, n, sizeof *pairs, by_symbol);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && pairs[i].symbol == pairs[i - 1].symbol) {
            char what[UTF8_DESCRIPTION_SIZE];
            if (kind == TOKENIZER_CHARS)
                utf8_describe(pairs[i].symbol, what);
            else
                snprintf(what, sizeof what, "0x%02X", (unsigned)pairs[i].symbol);
            return fail(err, STATUS_FORMAT, "%s: the ids %lu and %lu of the vocabulary both stand for %s", name,
                        (unsigned long)pairs[i - 1].id, (unsigned long)pairs[i].id, what);
        }
        order[i] = pairs[i].id;
    }
    *known = n;
    return STATUS_OK;
}

enum status tokenizer_make_order(struct tokenizer *t, enum tokenizer_kind kind, uint32_t *symbol, size_t V,
                                 const char *name, struct error *err)
{
    assert(kind != TOKENIZER_IDS && V > 0);
    const bool plain = ascends(symbol, V);
    if (plain && kind == TOKENIZER_BYTES && V == 256) { /* id = byte */
        free(symbol);
        tokenizer_make_bytes(t);
        return STATUS_OK;
    }
    *t = (struct tokenizer){0};
    uint32_t *order = plain ? NULL : malloc(V * sizeof *order);
    struct pair *pairs = plain ? NULL : malloc(V * sizeof *pairs);
    size_t known = 0;
    enum status s = STATUS_OK;
    if (!plain)
        s = order && pairs ? sort_order(order, &known, pairs, symbol, V, kind, name, err)
                           : fail(err, STATUS_MEMORY, "%s: no memory for a vocabulary of %zu symbols", name, V);
    free(pairs);
    if (s == STATUS_OK) {
        *t = (struct tokenizer){.kind = kind, .size = V, .symbol = symbol, .order = order, .known = known};
        return STATUS_OK;
    }
    free(symbol);
    free(order);
    return s;
}

enum status tokenizer_resize(struct tokenizer *t, size_t V, const char *name, struct error *err)
{
    assert(V > 0);
    if (V == t->size)
        return STATUS_OK;
    if (t->kind == TOKENIZER_IDS) {
        t->size = V;
        return STATUS_OK;
    }
    for (size_t id = V; id < t->size; id++)
        if (tokenizer_knows(t, (uint32_t)id)) {
            char label[TOKENIZER_LABEL_SIZE];
            tokenizer_label(t, (uint32_t)id, label);
            return fail(err, STATUS_FORMAT, "%s: the id %zu stands for %s, but the model has only the ids 0 to %zu",
                        name, id, label, V - 1);
        }
    uint32_t *symbol = malloc(V * sizeof *symbol);
    if (!symbol)
        return fail(err, STATUS_MEMORY, "%s: no memory for a vocabulary of %zu symbols", name, V);
    for (size_t id = 0; id < V; id++)
        symbol[id] = id >= t->size ? TOKENIZER_NOTHING : t->symbol ? t->symbol[id] : (uint32_t)id;
    struct tokenizer resized;
    const enum status s = tokenizer_make_order(&resized, t->kind, symbol, V, name, err);
    if (s != STATUS_OK)
        return s;
    tokenizer_free(t);
    *t = resized;
    return STATUS_OK;
}

enum status tokenizer_silent(bool **silent, const struct tokenizer *t, struct error *err)
{
    *silent = NULL;
    if (tokenizer_count(t) == t->size)
        return STATUS_OK;
    *silent = malloc(t->size * sizeof **silent);
    if (!*silent)
        return fail(err, STATUS_MEMORY, "no memory for a table of %zu ids", t->size);
    for (size_t id = 0; id < t->size; id++)
        (*silent)[id] = !tokenizer_knows(t, (uint32_t)id);
    return STATUS_OK;
}
