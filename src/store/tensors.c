#include "store/tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOMENT_NAME_SIZE (PARAMS_NAME_SIZE + 2)

static const char tied_head[] = "lm_head.weight";

static size_t count_of(const struct params_tensor *p)
{
    return p->rows * p->cols;
}

static void moment_name(char out[MOMENT_NAME_SIZE], char moment, const struct params_tensor *p)
{
    snprintf(out, MOMENT_NAME_SIZE, "%c.%s", moment, p->name);
}

/* ---- writing ---- */

static struct safetensors_item item_of(const struct params_tensor *p, const char *name, const real *values)
{
    struct safetensors_item item = {.name = name, .n_dims = p->vector ? 1 : 2};
    item.shape[0] = p->vector ? p->cols : p->rows;
    item.shape[1] = p->vector ? 0 : p->cols;
    item.values = p->present ? values + p->offset : NULL;
    return item;
}

enum status tensors_build_model(uint8_t **bytes, size_t *size, const struct gpt *g, struct error *err)
{
    const struct params_table *t = &g->table;
    struct safetensors_item *items = malloc(t->count * sizeof *items);
    if (!items)
        return fail(err, STATUS_MEMORY, "the list of %zu tensors was refused memory", t->count);
    for (size_t i = 0; i < t->count; i++)
        items[i] = item_of(&t->tensor[i], t->tensor[i].name, g->params);
    const enum status status = safetensors_build(bytes, size, items, t->count, err);
    free(items);
    return status;
}

enum status tensors_build_moments(uint8_t **bytes, size_t *size, const struct params_table *t, const real *m,
                                  const real *v, struct error *err)
{
    struct safetensors_item *items = malloc(2 * t->count * sizeof *items);
    char(*names)[MOMENT_NAME_SIZE] = malloc(2 * t->count * sizeof *names);
    enum status status = STATUS_OK;
    size_t n = 0;
    for (size_t k = 0; items && names && k < 2; k++)
        for (size_t i = 0; i < t->count; i++) {
            if (!t->tensor[i].present)
                continue;
            moment_name(names[n], "mv"[k], &t -> tensor[i]);
            items[n] = item_of(&t->tensor[i], names[n], k == 0 ? m : v);
            n++;
        }
    status = items && names ? safetensors_build(bytes, size, items, n, err)
                            : fail(err, STATUS_MEMORY, "the list of %zu tensors was refused memory", 2 * t->count);
    free(items);
    free(names);
    return status;
}

/* ---- reading ---- */

struct shape_text {
    char text[24 * SAFETENSORS_MAX_DIMS];
};

static struct shape_text shape_text(const size_t *shape, size_t n_dims)
{
    struct shape_text s;
    int n = snprintf(s.text, sizeof s.text, "[");
    for (size_t i = 0; i < n_dims; i++)
        n += snprintf(s.text + n, sizeof s.text - (size_t)n, "%s%zu", i ? "," : "", shape[i]);
    snprintf(s.text + n, sizeof s.text - (size_t)n, "]");
    return s;
}

static enum status check_shape(const struct safetensors *s, const char *name, const struct params_tensor *p,
                               struct error *err)
{
    const struct safetensors_entry *e = safetensors_find(s, name);
    if (!e)
        return fail(err, STATUS_FORMAT, "%s: tensor '%s' is missing", s->path, name);
    const struct safetensors_item expected = item_of(p, name, NULL);
    if (e->n_dims == expected.n_dims && memcmp(e->shape, expected.shape, e->n_dims * sizeof e->shape[0]) == 0)
        return STATUS_OK;
    return fail(err, STATUS_FORMAT, "%s: tensor '%s' has shape %s, but the sizes in config.json give %s", s->path, name,
                shape_text(e->shape, e->n_dims).text, shape_text(expected.shape, expected.n_dims).text);
}

/* Older transformers wrote the causal mask itself, as "transformer.h.N.attn.bias" and ".masked_bias". Nothing is
 * taken from it: nopeek computes no masked score in the first place. */
static bool is_mask_buffer(const char *name)
{
    static const char before[] = "transformer.h.";
    if (strncmp(name, before, strlen(before)) != 0)
        return false;
    const char *digits = name + strlen(before), *after = digits + strspn(digits, "0123456789");
    return after > digits && (strcmp(after, ".attn.bias") == 0 || strcmp(after, ".attn.masked_bias") == 0);
}

static bool in_table(const struct params_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->tensor[i].name, name) == 0)
            return true;
    return false;
}

static enum status check_table(const struct safetensors *s, const struct params_table *t, bool tied, struct error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const enum status status = check_shape(s, t->tensor[i].name, &t->tensor[i], err);
        if (status != STATUS_OK)
            return status;
    }
    size_t others = 0;
    for (size_t i = 0; i < s->count; i++)
        others += is_mask_buffer(s->entry[i].name);
    if (tied && safetensors_find(s, tied_head)) {
        const enum status status = check_shape(s, tied_head, params_find(t, PARAMS_TOKEN_EMBEDDING, 0), err);
        if (status != STATUS_OK)
            return status;
        others++;
    }
    /* Names are unique on both sides: equal numbers leave no room for a stranger. */
    for (size_t i = 0; s->count != t->count + others && i < s->count; i++) {
        const char *name = s->entry[i].name;
        if (!in_table(t, name) && !is_mask_buffer(name) && !(tied && strcmp(name, tied_head) == 0))
            return fail(err, STATUS_FORMAT, "%s: tensor '%.80s' is no part of the model in config.json", s->path, name);
    }
    return STATUS_OK;
}

enum status tensors_check_model(const struct safetensors *s, const struct config *c, struct error *err)
{
    struct params_table t;
    enum status status = params_table_make(&t, c, err);
    if (status != STATUS_OK)
        return status;
    status = check_table(s, &t, c->tied, err);
    params_table_free(&t);
    return status;
}

/* Reads one tensor and requires every number to be finite. */
static enum status read_finite(real *out, const struct safetensors *s, const char *name, struct error *err)
{
    const struct safetensors_entry *e = safetensors_find(s, name);
    const enum status status = safetensors_read(out, s, e, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < e->count; i++)
        if (!isfinite(out[i]))
            return fail(
                err, STATUS_NONFINITE,
                "%s: tensor '%s' holds %g at place %zu, a finite number was expected: use an earlier checkpoint",
                s->path, name, (double)out[i], i);
    return STATUS_OK;
}

static enum status require_zeros(const struct safetensors *s, const struct params_tensor *p, struct error *err)
{
    const size_t n = count_of(p);
    real *values = malloc(n * sizeof *values);
    if (!values)
        return fail(err, STATUS_MEMORY, "tensor '%s' was refused memory", p->name);
    enum status status = read_finite(values, s, p->name, err);
    for (size_t i = 0; status == STATUS_OK && i < n; i++)
        if (values[i] != 0)
            status = fail(err, STATUS_FORMAT,
                          "%s: tensor '%s' holds %g at place %zu, but nopeek.bias in config.json is false: 0 expected",
                          s->path, p->name, (double)values[i], i);
    free(values);
    return status;
}

static enum status require_tied(const struct gpt *g, const struct safetensors *s, struct error *err)
{
    if (!g->config.tied || !safetensors_find(s, tied_head))
        return STATUS_OK;
    const struct params_tensor *p = params_find(&g->table, PARAMS_TOKEN_EMBEDDING, 0);
    const size_t n = count_of(p);
    real *values = malloc(n * sizeof *values);
    if (!values)
        return fail(err, STATUS_MEMORY, "tensor '%s' was refused memory", tied_head);
    enum status status = read_finite(values, s, tied_head, err);
    for (size_t i = 0; status == STATUS_OK && i < n; i++)
        if (values[i] != g->params[p->offset + i])
            status = fail(err, STATUS_FORMAT,
                          "%s: tie_word_embeddings in config.json is true, but '%s' differs from '%s' at place %zu",
                          s->path, tied_head, p->name, i);
    free(values);
    return status;
}

enum status tensors_read_model(struct gpt *g, const struct safetensors *s, struct error *err)
{
    for (size_t i = 0; i < g->table.count; i++) {
        const struct params_tensor *p = &g->table.tensor[i];
        const enum status status =
            p->present ? read_finite(g->params + p->offset, s, p->name, err) : require_zeros(s, p, err);
        if (status != STATUS_OK)
            return status;
    }
    return require_tied(g, s, err);
}

static enum status read_moment(real *values, char moment, const struct params_tensor *p, const struct safetensors *s,
                               struct error *err)
{
    char name[MOMENT_NAME_SIZE];
    moment_name(name, moment, p);
    enum status status = check_shape(s, name, p, err);
    if (status == STATUS_OK)
        status = read_finite(values + p->offset, s, name, err);
    for (size_t i = 0; status == STATUS_OK && moment == 'v' && i < count_of(p); i++)
        if (values[p->offset + i] < 0)
            status = fail(err, STATUS_FORMAT, "%s: tensor '%s' holds %g at place %zu, a mean of squares was expected",
                          s->path, name, (double)values[p->offset + i], i);
    return status;
}

enum status tensors_read_moments(real *m, real *v, const struct params_table *t, const struct safetensors *s,
                                 struct error *err)
{
    size_t present = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->tensor[i].present)
            continue;
        present++;
        enum status status = read_moment(m, 'm', &t->tensor[i], s, err);
        if (status == STATUS_OK)
            status = read_moment(v, 'v', &t->tensor[i], s, err);
        if (status != STATUS_OK)
            return status;
    }
    if (s->count != 2 * present)
        return fail(err, STATUS_FORMAT, "%s: %zu tensors, %zu expected for this model", s->path, s->count, 2 * present);
    return STATUS_OK;
}
