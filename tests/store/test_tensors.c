#include "store/tensors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

TestSuite(tensors, .init = scratch_make, .fini = scratch_remove);

static struct gpt make_model(bool bias, bool tied)
{
    struct error err;
    struct gpt g;
    struct config c = config_make(2, 2, 4, 3, 5);
    c.bias = bias;
    c.tied = tied;
    cr_assert_eq(gpt_create(&g, &c, &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < g.table.size; i++)
        g.params[i] = (real)(i + 1) / 1024;
    return g;
}

/* Items as a model file would have them, for a test to spoil before they are written. */
struct draft {
    struct safetensors_item items[64];
    size_t n;
};

static struct draft draft_of(const struct gpt *g)
{
    struct draft d = {.n = g->table.count};
    for (size_t i = 0; i < d.n; i++) {
        const struct params_tensor *p = &g->table.tensor[i];
        d.items[i].name = p->name;
        d.items[i].n_dims = p->vector ? 1 : 2;
        d.items[i].shape[0] = p->vector ? p->cols : p->rows;
        d.items[i].shape[1] = p->vector ? 0 : p->cols;
        d.items[i].values = p->present ? g->params + p->offset : NULL;
    }
    return d;
}

static struct safetensors_item *item(struct draft *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->items[i].name, name) == 0)
            return &d->items[i];
    cr_assert_fail("%s", name);
    return NULL;
}

static void open_draft(struct safetensors *s, const struct draft *d)
{
    struct error err;
    uint8_t *bytes;
    size_t size;
    cr_assert_eq(safetensors_build(&bytes, &size, d->items, d->n, &err), STATUS_OK, "%s", err.message);
    scratch_write(scratch_path("f"), bytes, size);
    free(bytes);
    cr_assert_eq(safetensors_open(s, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
}

static enum status check_and_read(struct gpt *out, const struct draft *d, const struct config *c, struct error *err)
{
    struct safetensors s;
    *out = (struct gpt){0};
    open_draft(&s, d);
    enum status status = tensors_check_model(&s, c, err);
    if (status == STATUS_OK)
        status = gpt_create(out, c, err);
    if (status == STATUS_OK)
        status = tensors_read_model(out, &s, err);
    safetensors_close(&s);
    return status;
}

static void expect_refusal(const struct draft *d, const struct config *c, enum status expected, const char *part)
{
    struct error err = {.message = ""};
    struct gpt read;
    const enum status status = check_and_read(&read, d, c, &err);
    cr_assert_eq(status, expected, "status %d, not '%s'", (int)status, part);
    cr_assert_not_null(strstr(err.message, part), "'%s' lacks '%s'", err.message, part);
    gpt_free(&read);
}

static void expect_same(const struct draft *d, const struct gpt *g)
{
    struct error err;
    struct gpt read;
    cr_assert_eq(check_and_read(&read, d, &g->config, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(memcmp(read.params, g->params, g->table.size * sizeof(real)), 0);
    gpt_free(&read);
}

Test(tensors, model_of_every_kind_comes_back_bit_for_bit)
{
    struct error err;
    for (int kind = 0; kind < 4; kind++) {
        struct gpt g = make_model(kind & 1, kind & 2), read;
        uint8_t *bytes;
        size_t size;
        struct safetensors s;
        cr_assert_eq(tensors_build_model(&bytes, &size, &g, &err), STATUS_OK, "%s", err.message);
        scratch_write(scratch_path("f"), bytes, size);
        free(bytes);
        cr_assert_eq(safetensors_open(&s, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(tensors_check_model(&s, &g.config, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(gpt_create(&read, &g.config, &err), STATUS_OK);
        cr_assert_eq(tensors_read_model(&read, &s, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(memcmp(read.params, g.params, g.table.size * sizeof(real)), 0);
        cr_assert_eq(s.count, g.table.count, "absent biases are written too");
        cr_assert_eq(!safetensors_find(&s, "lm_head.weight"), g.config.tied);
        const struct safetensors_entry *e = safetensors_find(&s, "transformer.h.1.attn.c_attn.weight");
        cr_assert(e && e->n_dims == 2 && e->shape[0] == 4 && e->shape[1] == 12, "[in,out]");
        safetensors_close(&s);
        gpt_free(&read);
        gpt_free(&g);
    }
}

Test(tensors, missing_foreign_and_misshapen_tensors_are_named)
{
    struct gpt g = make_model(true, false);
    struct draft d = draft_of(&g);
    d.items[3].name = "transformer.h.0.ln_1.bia";
    expect_refusal(&d, &g.config, STATUS_FORMAT, "'transformer.h.0.ln_1.bias' is missing");

    d = draft_of(&g);
    d.items[d.n++] = (struct safetensors_item){.name = "transformer.h.2.ln_1.bias"};
    expect_refusal(&d, &g.config, STATUS_FORMAT, "'transformer.h.2.ln_1.bias' is no part of the model");

    d = draft_of(&g);
    struct safetensors_item *w = item(&d, "transformer.h.1.mlp.c_fc.weight");
    w->shape[0] = 16;
    w->shape[1] = 4;
    expect_refusal(&d, &g.config, STATUS_FORMAT, "has shape [16,4], but the sizes in config.json give [4,16]");

    d = draft_of(&g);
    w = item(&d, "transformer.ln_f.weight");
    w->n_dims = 2;
    w->shape[1] = 1;
    expect_refusal(&d, &g.config, STATUS_FORMAT, "has shape [4,1], but the sizes in config.json give [4]");

    struct config other = g.config;
    other.block_size = 4;
    d = draft_of(&g);
    expect_refusal(&d, &other, STATUS_FORMAT, "'transformer.wpe.weight' has shape [3,4]");
    other = g.config;
    other.tied = true;
    other.vocab_size = 5;
    d.items[0].values = g.params + 1;
    expect_refusal(&d, &other, STATUS_FORMAT, "'lm_head.weight' differs from 'transformer.wte.weight'");
    gpt_free(&g);
}

Test(tensors, files_of_other_programs_may_hold_mask_buffers_and_the_tied_matrix)
{
    struct gpt g = make_model(true, true);
    struct draft d = draft_of(&g);
    d.items[d.n++] = (struct safetensors_item){.name = "transformer.h.0.attn.bias", .n_dims = 4, .shape = {1, 1, 3, 3}};
    d.items[d.n++] = (struct safetensors_item){.name = "transformer.h.0.attn.masked_bias"};
    d.items[d.n++] =
        (struct safetensors_item){.name = "lm_head.weight", .n_dims = 2, .shape = {5, 4}, .values = g.params};
    expect_same(&d, &g);
    d.items[d.n - 1].values = NULL;
    expect_refusal(&d, &g.config, STATUS_FORMAT, "at place 0");
    d.items[d.n - 1].shape[0] = 6;
    expect_refusal(&d, &g.config, STATUS_FORMAT, "'lm_head.weight' has shape [6,4]");
    d.items[d.n - 1].name = "transformer.h..attn.bias";
    expect_refusal(&d, &g.config, STATUS_FORMAT, "'transformer.h..attn.bias' is no part");
    gpt_free(&g);
}

Test(tensors, number_that_is_not_finite_is_named_with_its_place)
{
    struct gpt g = make_model(true, true);
    real gain[4] = {1, 1, NAN, 1};
    struct draft d = draft_of(&g);
    item(&d, "transformer.h.1.ln_2.weight")->values = gain;
    expect_refusal(&d, &g.config, STATUS_NONFINITE, "'transformer.h.1.ln_2.weight' holds nan at place 2");
    gain[2] = 1;
    gain[3] = -INFINITY;
    expect_refusal(&d, &g.config, STATUS_NONFINITE, "holds -inf at place 3");
    gpt_free(&g);
}

Test(tensors, model_without_biases_requires_zeros)
{
    struct gpt g = make_model(false, true);
    const real values[4] = {0, (real)-0.0, 0, (real)1e-30};
    struct draft d = draft_of(&g);
    expect_same(&d, &g);
    item(&d, "transformer.h.0.attn.c_proj.bias")->values = values;
    expect_refusal(&d, &g.config, STATUS_FORMAT, "'transformer.h.0.attn.c_proj.bias' holds 1e-30 at place 3");
    gpt_free(&g);
}

static void make_moments(const struct gpt *g, real *m, real *v)
{
    struct error err;
    uint8_t *bytes;
    size_t size;
    for (size_t i = 0; i < g->table.size; i++) {
        m[i] = -(real)i / 512;
        v[i] = (real)i / 2048;
    }
    cr_assert_eq(tensors_build_moments(&bytes, &size, &g->table, m, v, &err), STATUS_OK, "%s", err.message);
    scratch_write(scratch_path("o"), bytes, size);
    free(bytes);
}

Test(tensors, moments_come_back_bit_for_bit)
{
    struct error err;
    for (int kind = 0; kind < 4; kind++) {
        struct gpt g = make_model(kind & 1, kind & 2);
        struct safetensors s;
        real *x = calloc(4 * g.table.size, sizeof *x), *read = x + 2 * g.table.size;
        make_moments(&g, x, x + g.table.size);
        cr_assert_eq(safetensors_open(&s, scratch_path("o"), &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(tensors_read_moments(read, read + g.table.size, &g.table, &s, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(memcmp(x, read, 2 * g.table.size * sizeof *x), 0);
        cr_assert_eq(!safetensors_find(&s, "m.transformer.h.0.ln_1.bias"), !g.config.bias, "present tensors only");
        safetensors_close(&s);
        free(x);
        gpt_free(&g);
    }
}

Test(tensors, moments_of_another_model_or_impossible_ones_are_refused)
{
    struct error err;
    struct gpt g = make_model(true, true), bare = make_model(false, true);
    struct safetensors s;
    real *x = calloc(2 * g.table.size, sizeof *x);
    make_moments(&g, x, x + g.table.size);
    cr_assert_eq(safetensors_open(&s, scratch_path("o"), &err), STATUS_OK);
    cr_assert_eq(tensors_read_moments(x, x + bare.table.size, &bare.table, &s, &err), STATUS_FORMAT);
    cr_assert_not_null(strstr(err.message, "56 tensors, 30 expected"), "%s", err.message);
    safetensors_close(&s);
    make_moments(&bare, x, x + bare.table.size);
    cr_assert_eq(safetensors_open(&s, scratch_path("o"), &err), STATUS_OK);
    cr_assert_eq(tensors_read_moments(x, x + g.table.size, &g.table, &s, &err), STATUS_FORMAT);
    cr_assert_not_null(strstr(err.message, "'m.transformer.h.0.ln_1.bias' is missing"), "%s", err.message);
    safetensors_close(&s);

    uint8_t *bytes;
    size_t size;
    real *v = x + g.table.size;
    memset(x, 0, 2 * g.table.size * sizeof *x);
    v[1] = (real)-1e-9;
    cr_assert_eq(tensors_build_moments(&bytes, &size, &g.table, x, v, &err), STATUS_OK);
    scratch_write(scratch_path("o"), bytes, size);
    free(bytes);
    cr_assert_eq(safetensors_open(&s, scratch_path("o"), &err), STATUS_OK);
    cr_assert_eq(tensors_read_moments(x, v, &g.table, &s, &err), STATUS_FORMAT);
    cr_assert_not_null(strstr(err.message, "'v.transformer.wte.weight' holds -1e-09 at place 1"), "%s", err.message);
    safetensors_close(&s);
    free(x);
    gpt_free(&g);
    gpt_free(&bare);
}
