#include "store/tensors.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOMENT_NAME_SIZE (PARAMS_NAME_SIZE + 2)

static const char tied_head[] = "lm_head.weight";
static const char trunk[] = "transformer.";

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
    item.values = values && p->present ? values + p->offset : NULL;
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

/* What a tensor of the parameter table is called in the set's files. */
static const char *name_in(const struct tensors_set *set, const char *name)
{
    const size_t n = strlen(trunk);
    return set->bare && strncmp(name, trunk, n) == 0 ? name + n : name;
}

/* A tensor by its name in the files, and the file that has it; NULL when none does. */
static const struct safetensors_entry *find(struct safetensors **file, const struct tensors_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct safetensors_entry *e = safetensors_find(&set->file[i], name);
        if (e) {
            *file = &set->file[i];
            return e;
        }
    }
    return NULL;
}

static enum status check_shape(const struct tensors_set *set, const char *name, const struct params_tensor *p,
                               struct error *err)
{
    struct safetensors *file;
    const struct safetensors_entry *e = find(&file, set, name);
    if (!e)
        return fail(err, STATUS_FORMAT, "%s: tensor '%s' is missing%s", set->name, name,
                    strcmp(name, tied_head) == 0 ? ", and tie_word_embeddings in config.json is false" : "");
    const struct safetensors_item expected = item_of(p, name, NULL);
    if (e->n_dims == expected.n_dims && memcmp(e->shape, expected.shape, e->n_dims * sizeof e->shape[0]) == 0)
        return STATUS_OK;
    return fail(err, STATUS_FORMAT, "%s: tensor '%s' has shape %s, but the sizes in config.json give %s", file->path,
                name, shape_text(e->shape, e->n_dims).text, shape_text(expected.shape, expected.n_dims).text);
}

/* Older transformers wrote the causal mask itself, as "transformer.h.N.attn.bias" and ".masked_bias". Nothing is
 * taken from it: nopeek computes no masked score in the first place. */
static bool is_mask_buffer(const struct tensors_set *set, const char *name)
{
    const char *before = name_in(set, "transformer.h.");
    if (strncmp(name, before, strlen(before)) != 0)
        return false;
    const char *digits = name + strlen(before), *after = digits + strspn(digits, "0123456789");
    return after > digits && (strcmp(after, ".attn.bias") == 0 || strcmp(after, ".attn.masked_bias") == 0);
}

static bool in_table(const struct params_table *t, const struct tensors_set *set, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(name_in(set, t->tensor[i].name), name) == 0)
            return true;
    return false;
}

/* The first tensor of the file that no model of this table has. */
static enum status name_stranger(const struct tensors_set *set, const struct safetensors *file,
                                 const struct params_table *t, bool tied, struct error *err)
{
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->entry[i].name;
        if (!in_table(t, set, name) && !is_mask_buffer(set, name) && !(tied && strcmp(name, tied_head) == 0))
            return fail(err, STATUS_FORMAT, "%s: tensor '%.80s' is no part of the model in config.json", file->path,
                        name);
    }
    return STATUS_OK;
}

static enum status check_table(const struct tensors_set *set, const struct params_table *t, bool tied,
                               struct error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const enum status status = check_shape(set, name_in(set, t->tensor[i].name), &t->tensor[i], err);
        if (status != STATUS_OK)
            return status;
    }
    size_t others = 0, count = 0;
    for (size_t f = 0; f < set->count; f++) {
        count += set->file[f].count;
        for (size_t i = 0; i < set->file[f].count; i++)
            others += is_mask_buffer(set, set->file[f].entry[i].name);
    }
    struct safetensors *file;
    if (tied && find(&file, set, tied_head)) {
        const enum status status = check_shape(set, tied_head, params_find(t, PARAMS_TOKEN_EMBEDDING, 0), err);
        if (status != STATUS_OK)
            return status;
        others++;
    }
    /* Names are unique on both sides: equal numbers leave no room for a stranger. */
    enum status status = STATUS_OK;
    for (size_t f = 0; status == STATUS_OK && count != t->count + others && f < set->count; f++)
        status = name_stranger(set, &set->file[f], t, tied, err);
    return status;
}

enum status tensors_check_set(const struct tensors_set *set, const struct config *c, struct error *err)
{
    struct params_table t;
    enum status status = params_table_make(&t, c, err);
    if (status != STATUS_OK)
        return status;
    status = check_table(set, &t, c->tied, err);
    params_table_free(&t);
    return status;
}

static struct tensors_set set_of(struct safetensors *s)
{
    return (struct tensors_set){.file = s, .count = 1, .name = s->path};
}

enum status tensors_check_model(struct safetensors *s, const struct config *c, struct error *err)
{
    const struct tensors_set set = set_of(s);
    return tensors_check_set(&set, c, err);
}

/* Reads one tensor and requires every number to be finite. */
static enum status read_finite(real *out, struct safetensors *s, const struct safetensors_entry *e, struct error *err)
{
    const enum status status = safetensors_read(out, s, e, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < e->count; i++)
        if (!isfinite(out[i]))
            return fail(
                err, STATUS_NONFINITE,
                "%s: tensor '%s' holds %g at place %zu, a finite number was expected: use an earlier checkpoint",
                s->path, e->name, (double)out[i], i);
    return STATUS_OK;
}

/* Whether a tensor holds nothing but zeros; else *place is the first that is none, and *found what is there. */
static enum status is_zero(bool *zero, size_t *place, real *found, struct safetensors *s,
                           const struct safetensors_entry *e, struct error *err)
{
    *zero = true;
    real *values = malloc(e->count * sizeof *values);
    if (!values)
        return fail(err, STATUS_MEMORY, "tensor '%s' was refused memory", e->name);
    const enum status status = read_finite(values, s, e, err);
    for (size_t i = 0; status == STATUS_OK && *zero && i < e->count; i++)
        if (values[i] != 0) {
            *zero = false;
            *place = i;
            *found = values[i];
        }
    free(values);
    return status;
}

static enum status require_zeros(struct safetensors *s, const struct safetensors_entry *e, struct error *err)
{
    bool zero;
    size_t place = 0;
    real found = 0;
    const enum status status = is_zero(&zero, &place, &found, s, e, err);
    if (status != STATUS_OK || zero)
        return status;
    return fail(err, STATUS_FORMAT,
                "%s: tensor '%s' holds %g at place %zu, but nopeek.bias in config.json is false: 0 expected", s->path,
                e->name, (double)found, place);
}

enum status tensors_absent_zero(bool *zero, const struct tensors_set *set, const struct config *c, struct error *err)
{
    struct params_table t;
    enum status status = params_table_make(&t, c, err);
    *zero = true;
    if (status != STATUS_OK)
        return status;
    size_t place;
    real found;
    for (size_t i = 0; status == STATUS_OK && *zero && i < t.count; i++) {
        struct safetensors *file = NULL;
        if (t.tensor[i].present)
            continue;
        const struct safetensors_entry *e = find(&file, set, name_in(set, t.tensor[i].name));
        assert(e); /* tensors_check_set saw it */
        status = is_zero(zero, &place, &found, file, e, err);
    }
    params_table_free(&t);
    return status;
}

static enum status require_tied(const struct gpt *g, const struct tensors_set *set, struct error *err)
{
    struct safetensors *file;
    const struct safetensors_entry *e = find(&file, set, tied_head);
    if (!g->config.tied || !e)
        return STATUS_OK;
    const struct params_tensor *p = params_find(&g->table, PARAMS_TOKEN_EMBEDDING, 0);
    real *values = malloc(e->count * sizeof *values);
    if (!values)
        return fail(err, STATUS_MEMORY, "tensor '%s' was refused memory", tied_head);
    enum status status = read_finite(values, file, e, err);
    for (size_t i = 0; status == STATUS_OK && i < e->count; i++)
        if (values[i] != g->params[p->offset + i])
            status = fail(err, STATUS_FORMAT,
                          "%s: tie_word_embeddings in config.json is true, but '%s' differs from '%s' at place %zu",
                          file->path, tied_head, p->name, i);
    free(values);
    return status;
}

/* Where each tensor of the file goes, or NULL: the file is read in its own order, so that its hash is that of the bytes
 * which are used. */
struct destination {
    const struct params_tensor *tensor;
    char moment; /* 'm', 'v', or 0: a parameter */
};

static struct destination *make_destinations(const struct safetensors *s)
{
    return calloc(s->count + 1, sizeof(struct destination));
}

/* What one file of the set has of the model. */
static enum status read_file(struct gpt *g, const struct tensors_set *set, struct safetensors *s, struct error *err)
{
    struct destination *to = make_destinations(s);
    if (!to)
        return fail(err, STATUS_MEMORY, "the list of %zu tensors was refused memory", s->count);
    for (size_t i = 0; i < g->table.count; i++) {
        const struct safetensors_entry *e = safetensors_find(s, name_in(set, g->table.tensor[i].name));
        if (e)
            to[e - s->entry].tensor = &g->table.tensor[i];
    }
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < s->count; i++) {
        const struct params_tensor *p = to[i].tensor;
        if (!p)
            status = safetensors_skip(s, &s->entry[i], err);
        else if (p->present)
            status = read_finite(g->params + p->offset, s, &s->entry[i], err);
        else
            status = require_zeros(s, &s->entry[i], err);
    }
    free(to);
    return status;
}

enum status tensors_read_set(struct gpt *g, const struct tensors_set *set, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t f = 0; status == STATUS_OK && f < set->count; f++)
        status = read_file(g, set, &set->file[f], err);
    return status == STATUS_OK ? require_tied(g, set, err) : status;
}

enum status tensors_read_model(struct gpt *g, struct safetensors *s, struct error *err)
{
    const struct tensors_set set = set_of(s);
    return tensors_read_set(g, &set, err);
}

static enum status read_moment(real *values, const struct destination *to, struct safetensors *s,
                               const struct safetensors_entry *e, struct error *err)
{
    assert(to->tensor); /* find_moments found as many as there are */
    real *const out = values + to->tensor->offset;
    enum status status = read_finite(out, s, e, err);
    for (size_t i = 0; status == STATUS_OK && to->moment == 'v' && i < e->count; i++)
        if (out[i] < 0)
            status = fail(err, STATUS_FORMAT, "%s: tensor '%s' holds %g at place %zu, a mean of squares was expected",
                          s->path, e->name, (double)out[i], i);
    return status;
}

/* Every moment of the table is there, in its shape. */
static enum status find_moments(struct destination *to, const struct params_table *t, struct safetensors *s,
                                struct error *err)
{
    const struct tensors_set set = set_of(s);
    size_t found = 0;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < t->count; i++) {
            if (!t->tensor[i].present)
                continue;
            char name[MOMENT_NAME_SIZE];
            moment_name(name, "mv"[k], &t -> tensor[i]);
            const enum status status = check_shape(&set, name, &t->tensor[i], err);
            if (status != STATUS_OK)
                return status;
            to[safetensors_find(s, name) - s->entry] = (struct destination){&t->tensor[i], "mv"[k]};
            found++;
        }
    if (s->count != found)
        return fail(err, STATUS_FORMAT, "%s: %zu tensors, %zu expected for this model", s->path, s->count, found);
    return STATUS_OK;
}

enum status tensors_read_moments(real *m, real *v, const struct params_table *t, struct safetensors *s,
                                 struct error *err)
{
    struct destination *to = make_destinations(s);
    if (!to)
        return fail(err, STATUS_MEMORY, "the list of %zu tensors was refused memory", s->count);
    enum status status = find_moments(to, t, s, err);
    for (size_t i = 0; status == STATUS_OK && i < s->count; i++)
        status = read_moment(to[i].moment == 'm' ? m : v, &to[i], s, &s->entry[i], err);
    free(to);
    return status;
}
