#include "model/params.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct params_table table_of(const struct config *c)
{
    struct error err;
    struct params_table t;
    cr_assert_eq(params_table_make(&t, c, &err), STATUS_OK, "%s", err.message);
    return t;
}

/* C = 6, block 5, V = 7 */
static const struct {
    const char *name; /* as in the files of the released GPT-2 */
    size_t rows, cols;
    bool vector, bias, decays;
} GPT2[] = {
    {"transformer.wte.weight", 7, 6, false, false, false},
    {"transformer.wpe.weight", 5, 6, false, false, false},
    {"transformer.h.0.ln_1.weight", 1, 6, true, false, false},
    {"transformer.h.0.ln_1.bias", 1, 6, true, true, false},
    {"transformer.h.0.attn.c_attn.weight", 6, 18, false, false, true},
    {"transformer.h.0.attn.c_attn.bias", 1, 18, true, true, false},
    {"transformer.h.0.attn.c_proj.weight", 6, 6, false, false, true},
    {"transformer.h.0.attn.c_proj.bias", 1, 6, true, true, false},
    {"transformer.h.0.ln_2.weight", 1, 6, true, false, false},
    {"transformer.h.0.ln_2.bias", 1, 6, true, true, false},
    {"transformer.h.0.mlp.c_fc.weight", 6, 24, false, false, true},
    {"transformer.h.0.mlp.c_fc.bias", 1, 24, true, true, false},
    {"transformer.h.0.mlp.c_proj.weight", 24, 6, false, false, true},
    {"transformer.h.0.mlp.c_proj.bias", 1, 6, true, true, false},
    {"transformer.h.1.ln_1.weight", 1, 6, true, false, false},
    {"transformer.h.1.ln_1.bias", 1, 6, true, true, false},
    {"transformer.h.1.attn.c_attn.weight", 6, 18, false, false, true},
    {"transformer.h.1.attn.c_attn.bias", 1, 18, true, true, false},
    {"transformer.h.1.attn.c_proj.weight", 6, 6, false, false, true},
    {"transformer.h.1.attn.c_proj.bias", 1, 6, true, true, false},
    {"transformer.h.1.ln_2.weight", 1, 6, true, false, false},
    {"transformer.h.1.ln_2.bias", 1, 6, true, true, false},
    {"transformer.h.1.mlp.c_fc.weight", 6, 24, false, false, true},
    {"transformer.h.1.mlp.c_fc.bias", 1, 24, true, true, false},
    {"transformer.h.1.mlp.c_proj.weight", 24, 6, false, false, true},
    {"transformer.h.1.mlp.c_proj.bias", 1, 6, true, true, false},
    {"transformer.ln_f.weight", 1, 6, true, false, false},
    {"transformer.ln_f.bias", 1, 6, true, true, false},
    {"lm_head.weight", 7, 6, false, false, true},
};
enum { ALL = sizeof GPT2 / sizeof *GPT2 };

Test(params, names_shapes_and_decay_are_gpt2s)
{
    for (int option = 0; option < 4; option++) {
        struct config c = config_make(2, 2, 6, 5, 7);
        c.bias = option & 1;
        c.tied = option & 2;
        struct params_table t = table_of(&c);
        cr_assert_eq(t.count, c.tied ? ALL - 1 : ALL);
        size_t offset = 0;
        for (size_t i = 0; i < t.count; i++) {
            const struct params_tensor *p = &t.tensor[i];
            cr_expect_str_eq(p->name, GPT2[i].name);
            cr_expect_eq(p->rows, GPT2[i].rows, "%s", p->name);
            cr_expect_eq(p->cols, GPT2[i].cols, "%s", p->name);
            cr_expect_eq(p->vector, GPT2[i].vector, "%s", p->name);
            cr_expect_eq(params_decays(p), GPT2[i].decays, "%s", p->name);
            cr_expect_eq(p->present, c.bias || !GPT2[i].bias, "%s", p->name);
            if (!p->present)
                continue;
            cr_expect_eq(p->offset, offset, "%s: tensors lie side by side", p->name);
            offset += p->rows * p->cols;
        }
        cr_expect_eq(t.size, offset);
        params_table_free(&t);
    }
}

Test(params, find_gives_the_tensor_of_its_kind_and_layer)
{
    struct config c = config_make(12, 2, 6, 5, 7);
    struct params_table t = table_of(&c);
    for (size_t i = 0; i < t.count; i++)
        cr_expect_eq(params_find(&t, t.tensor[i].kind, t.tensor[i].layer), &t.tensor[i], "%s", t.tensor[i].name);
    cr_expect_str_eq(params_find(&t, PARAMS_FC, 11)->name, "transformer.h.11.mlp.c_fc.weight");
    cr_expect_eq(params_find(&t, PARAMS_LNF_GAIN, 5), params_find(&t, PARAMS_LNF_GAIN, 0));
    cr_expect_null(params_find(&t, PARAMS_HEAD, 0), "a tied model has no head of its own");
    params_table_free(&t);
}

Test(params, the_name_of_the_last_layer_fits)
{
    struct config c = config_make(4095, 1, 1, 1, 1);
    struct params_table t = table_of(&c);
    cr_expect_str_eq(params_find(&t, PARAMS_QKV, 4094)->name, "transformer.h.4094.attn.c_attn.weight");
    params_table_free(&t);
}

Test(params, views_divide_the_columns_of_qkv)
{
    for (int bias = 0; bias < 2; bias++) {
        static const char *const names[] = {"W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"};
        struct config c = config_make(2, 2, 6, 5, 7);
        c.bias = bias;
        struct params_table t = table_of(&c);
        for (size_t layer = 0; layer < 2; layer++) {
            struct params_view v[6];
            cr_assert_eq(params_views(v, &t, layer), bias ? 6 : 3);
            for (size_t i = 0; i < (bias ? 6 : 3); i++) {
                const struct params_tensor *p = params_find(&t, i < 3 ? PARAMS_QKV : PARAMS_QKV_BIAS, layer);
                cr_expect_str_eq(v[i].name, names[i]);
                cr_expect_eq(&t.tensor[v[i].tensor], p);
                cr_expect_eq(v[i].begin, i % 3 * 6);
                cr_expect_eq(v[i].cols, 6);
            }
        }
        params_table_free(&t);
    }
}

/* ---- initialisation ---- */

struct moments {
    double mean, sigma;
};

static struct moments moments_of(const real *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    return (struct moments){mean, sqrt(squares / (double)n)};
}

static real *init(const struct params_table *t, const struct config *c, uint64_t seed)
{
    real *values = malloc(t->size * sizeof *values);
    memset(values, 0xff, t->size * sizeof *values); /* NaN */
    params_init(values, t, c, seed);
    return values;
}

Test(params, init_has_the_stated_deviations)
{
    struct config c = config_make(8, 4, 96, 80, 90);
    c.tied = false;
    struct params_table t = table_of(&c);
    real *values = init(&t, &c, 42);
    for (size_t i = 0; i < t.count; i++) {
        const struct params_tensor *p = &t.tensor[i];
        const size_t n = p->rows * p->cols;
        const struct moments m = moments_of(values + p->offset, n);
        if (p->role == PARAMS_ROLE_GAIN || p->role == PARAMS_ROLE_BIAS) {
            cr_expect_eq(m.mean, p->role == PARAMS_ROLE_GAIN, "%s", p->name);
            cr_expect_eq(m.sigma, 0, "%s", p->name);
            continue;
        }
        if (p->kind == PARAMS_POSITION_EMBEDDING)
            continue;
        const bool residual = p->kind == PARAMS_PROJ || p->kind == PARAMS_FC_OUT;
        const double sigma = p->role != PARAMS_ROLE_MATRIX ? 0.02
                             : residual                    ? 0.5 / sqrt((double)p->rows) / sqrt(16)
                                                           : 0.5 / sqrt((double)p->rows);
        const double root = sqrt((double)n);
        cr_expect_float_eq(m.mean, 0, 4.5 * sigma / root, "%s: mean %g", p->name, m.mean);
        cr_expect_float_eq(m.sigma, sigma, 4.5 * sigma / (sqrt(2) * root), "%s: deviation %g", p->name, m.sigma);
    }
    free(values);
    params_table_free(&t);
}

Test(params, positions_start_as_sinusoids_whose_neighbours_are_alike)
{
    struct config c = config_make(1, 2, 64, 200, 7);
    struct params_table t = table_of(&c);
    real *values = init(&t, &c, 3);
    const struct params_tensor *p = params_find(&t, PARAMS_POSITION_EMBEDDING, 0);
    const real *w = values + p->offset;
    cr_expect_eq(w[0], 0);
    cr_expect_float_eq((double)w[1], 0.08, 1e-6);
    cr_expect_float_eq((double)w[5 * 64], 0.08 * sin(5), 1e-6);
    cr_expect_float_eq((double)w[5 * 64 + 63], 0.08 * cos(5 * pow(1000, -62.0 / 64)), 1e-6);
    /* The inner product of two positions depends on their distance alone, and is largest at 0. */
    for (size_t s = 0; s + 150 < 200; s += 7)
        for (size_t d = 0; d < 150; d += 13) {
            double here = 0, there = 0;
            for (size_t i = 0; i < 64; i++) {
                here += (double)w[i] * (double)w[d * 64 + i];
                there += (double)w[s * 64 + i] * (double)w[(s + d) * 64 + i];
            }
            cr_expect_float_eq(here, there, 1e-6);
            cr_expect(here <= 64 / 2 * 0.08 * 0.08 + 1e-6);
        }
    free(values);
    params_table_free(&t);
}
Test(params, init_is_a_function_of_the_seed)
{
    struct config c = config_make(2, 2, 6, 5, 7);
    struct params_table t = table_of(&c);
    real *a = init(&t, &c, 1), *again = init(&t, &c, 1), *other = init(&t, &c, 2);
    cr_expect_eq(memcmp(a, again, t.size * sizeof *a), 0);
    const struct params_tensor *p = params_find(&t, PARAMS_FC, 1);
    for (size_t i = 0; i < p->rows * p->cols; i++)
        cr_expect_neq(a[p->offset + i], other[p->offset + i]);
    free(other);
    free(again);
    free(a);
    params_table_free(&t);
}

Test(params, no_two_tensors_start_alike)
{
    struct config c = config_make(3, 2, 6, 5, 7);
    c.tied = false;
    struct params_table t = table_of(&c);
    real *values = init(&t, &c, 1);
    for (size_t i = 0; i < t.count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct params_tensor *a = &t.tensor[i], *b = &t.tensor[j];
            if (a->vector || b->vector || a->kind == PARAMS_POSITION_EMBEDDING || b->kind == PARAMS_POSITION_EMBEDDING)
                continue;
            /* Of different deviations too: what counts is the ratio. */
            const real r = values[a->offset] / values[b->offset], s = values[a->offset + 1] / values[b->offset + 1];
            cr_expect(fabs((double)(r - s)) > 1e-4 * fabs((double)r), "%s and %s", a->name, b->name);
        }
    free(values);
    params_table_free(&t);
}

/* Weights of one seed stay the same when an option adds or removes other tensors. */
Test(params, options_do_not_shift_the_draws)
{
    struct config c = config_make(2, 2, 6, 5, 7), other = c;
    other.bias = false;
    other.tied = false;
    struct params_table t = table_of(&c), u = table_of(&other);
    real *a = init(&t, &c, 9), *b = init(&u, &other, 9);
    for (size_t i = 0; i < t.count; i++) {
        const struct params_tensor *p = &t.tensor[i], *q = params_find(&u, p->kind, p->layer);
        if (q->present)
            cr_expect_eq(memcmp(a + p->offset, b + q->offset, p->rows * p->cols * sizeof *a), 0, "%s", p->name);
    }
    free(b);
    free(a);
    params_table_free(&u);
    params_table_free(&t);
}
