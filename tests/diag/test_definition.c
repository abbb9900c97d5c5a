#include "diag/definition.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct definition_report report;
static const struct gpt_pass DROPPING = {.training = true, .seed = 4, .step = 2, .first_row = 3};

static void run(struct tiny *t, size_t b)
{
    struct error err;
    const struct gpt_pass *pass = t->model.config.dropout > 0 ? &DROPPING : &gpt_evaluating;
    report = (struct definition_report){0};
    gpt_forward(&t->model, &t->work, t->tokens, t->B, t->T, pass);
    cr_assert_eq(definition_check(&report, &t->model, &t->work, t->tokens, t->T, b, pass, &err), STATUS_OK);
}

static void again(struct tiny *t)
{
    struct error err;
    report = (struct definition_report){0};
    cr_assert_eq(definition_check(&report, &t->model, &t->work, t->tokens, t->T, 0, &gpt_evaluating, &err), STATUS_OK);
}

static void make_in(struct tiny *t, enum precision precision, size_t L, size_t H, size_t C, size_t B, size_t T,
                    bool bias, bool tied)
{
    struct config c = config_make(L, H, C, T, 7);
    c.bias = bias;
    c.tied = tied;
    c.precision = precision;
    tiny_make(t, &c, 1, B, T, 1);
}

static void make(struct tiny *t, size_t L, size_t H, size_t C, size_t B, size_t T, bool bias, bool tied)
{
    make_in(t, PRECISION_FP32, L, H, C, B, T, bias, tied);
}

Test(definition, correct_models_are_what_they_should_be)
{
    const struct {
        size_t L, H, C, B, T;
        bool bias, tied;
        real sharpen;
    } all[] = {{1, 1, 1, 1, 1, true, true, 1},  {2, 2, 6, 2, 5, true, false, 1},  {1, 3, 9, 1, 17, false, true, 1},
               {3, 1, 8, 3, 33, true, true, 1}, {1, 4, 64, 1, 40, true, true, 1}, {2, 2, 8, 1, 16, true, true, 50}};
    for (size_t n = 0; n < 2 * sizeof all / sizeof *all; n++) {
        const size_t i = n / 2;
        struct tiny t;
        make_in(&t, n % 2 ? PRECISION_BF16 : PRECISION_FP32, all[i].L, all[i].H, all[i].C, all[i].B, all[i].T,
                all[i].bias, all[i].tied);
        tiny_sharpen(&t, 0, all[i].sharpen);
        for (size_t b = 0; b < all[i].B; b++) {
            run(&t, b);
            cr_expect_eq(report.places, 0, "shape %zu, bf16 %zu: %s, %g", i, n % 2, report.place[0].operation,
                         report.place[0].error);
            cr_expect_gt(report.rows, 0);
        }
        tiny_free(&t);
    }
}

static void expect_only(const char *operation, size_t layer)
{
    cr_expect_eq(report.places, 1, "%s: %zu places, %s", operation, report.places, report.place[0].operation);
    cr_expect_str_eq(report.place[0].operation, operation);
    cr_expect_eq(report.place[0].layer, layer);
}

Test(definition, holds_with_dropout_too_and_knows_its_masks)
{
    struct config c = config_make(2, 2, 8, 9, 7);
    c.dropout = 0.4;
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    for (size_t b = 0; b < 2; b++) {
        run(&t, b);
        cr_expect_eq(report.places, 0, "%s", report.place[0].operation);
    }
    again(&t); /* evaluation's masks are none */
    cr_expect_gt(report.places, 3);
    tiny_free(&t);
}

Test(definition, each_operation_is_blamed_alone)
{
    const struct {
        enum params_kind kind;
        const char *operation;
    } all[] = {{PARAMS_LN1_GAIN, "LayerNorm 1"},
               {PARAMS_LN1_BIAS, "LayerNorm 1"},
               {PARAMS_QKV, "W_QKV"},
               {PARAMS_QKV_BIAS, "W_QKV"},
               {PARAMS_PROJ, "W_O"},
               {PARAMS_PROJ_BIAS, "W_O"},
               {PARAMS_LN2_GAIN, "LayerNorm 2"},
               {PARAMS_FC, "W_fc"},
               {PARAMS_FC_OUT, "W_out"},
               {PARAMS_FC_OUT_BIAS, "W_out"}};
    struct tiny t;
    make(&t, 2, 2, 8, 1, 9, true, false);
    run(&t, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        real *x = tiny_tensor(&t, t.model.params, all[i].kind, 1);
        const real old = x[3];
        x[3] += (real)0.1;
        again(&t);
        expect_only(all[i].operation, 1);
        x[3] = old;
    }
    const struct {
        enum params_kind kind;
        const char *operation;
    } ends[] = {
        {PARAMS_POSITION_EMBEDDING, "embeddings"}, {PARAMS_LNF_GAIN, "final LayerNorm"}, {PARAMS_HEAD, "output head"}};
    for (size_t i = 0; i < 3; i++) {
        real *x = tiny_tensor(&t, t.model.params, ends[i].kind, 0);
        x[3] += (real)0.1;
        again(&t);
        expect_only(ends[i].operation, DEFINITION_NOWHERE);
        x[3] -= (real)0.1;
    }
    t.work.block[0].gelu[5] += (real)0.1; /* which W_out has read otherwise */
    again(&t);
    cr_expect_eq(report.places, 2);
    cr_expect_str_eq(report.place[0].operation, "GELU");
    t.work.logits[0] = (real)NAN;
    again(&t);
    cr_expect_eq(report.places, 3, "not a number is not right");
    tiny_free(&t);
}

Test(definition, common_mistakes_in_attention_are_recognised)
{
    const char *const names[][2] = {{"no-mask", "as if there were no mask"},
                                    {"one-ahead", "as if the next position were visible"},
                                    {"not-itself", "as if a position could not see itself"},
                                    {"transposed", "as if the triangle were the wrong way round"},
                                    {"after-softmax", NULL}};
    for (size_t n = 0; n < 2 * sizeof names / sizeof *names; n++) {
        const size_t i = n / 2;
        struct tiny t;
        make_in(&t, n % 2 ? PRECISION_BF16 : PRECISION_FP32, 2, 3, 9, 1, 12, true, true);
        struct fault fault;
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(names[i][0]), 1, 2);
        run(&t, 0);
        expect_only("attention", 1);
        cr_expect_eq(report.place[0].head, 2);
        const char *reads = report.place[0].reads;
        cr_expect(names[i][1] ? reads && strcmp(reads, names[i][1]) == 0 : !reads, "%s: %s", names[i][0], reads);
        tiny_free(&t);
    }
}

/* What the rounding of weights may do is about a hundredth of the terms at most; more is seen. */
Test(definition, attention_in_bf16_is_held_to_the_rounding_of_its_weights)
{
    struct tiny t;
    make_in(&t, PRECISION_BF16, 1, 2, 32, 1, 16, true, true);
    run(&t, 0);
    cr_assert_eq(report.places, 0);
    real *att = t.work.block[0].att + 9 * 32 + 20; /* of head 1 */
    const real old = *att;
    const real *values = t.work.block[0].qkv + 2 * 32 + 20;
    double size = 0; /* the weighted sum of |v| is no larger */
    for (size_t k = 0; k < 10; k++)
        size = fmax(size, fabs((double)values[k * 3 * 32]));
    *att = old + (real)(size / 100);
    again(&t);
    cr_assert_gt(report.places, 0);
    cr_expect_str_eq(report.place[0].operation, "attention");
    cr_expect_eq(report.place[0].head, 1);
    tiny_free(&t);
}
