#include "diag/derivative.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct verdict *check(struct tiny *t, const bool *skip)
{
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(derivative_check(v, &t->model, &t->work, skip, 3, &err), STATUS_OK, "%s", err.message);
    return v;
}

static void make(struct tiny *t, enum precision precision, size_t L, size_t H, size_t C, size_t T, bool bias)
{
    struct config c = config_make(L, H, C, T, 5);
    c.bias = bias;
    c.precision = precision;
    tiny_make(t, &c, 1, 1, T, 1);
}

Test(derivative, correct_blocks_pass)
{
    const size_t shapes[][4] = {{1, 1, 1, 1}, {1, 1, 2, 5}, {2, 3, 9, 17}, {1, 4, 64, 33}, {1, 2, 6, 100}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int bits = 0; bits < 4; bits++) {
            struct tiny t;
            make(&t, bits & 1 ? PRECISION_BF16 : PRECISION_FP32, shapes[k][0], shapes[k][1], shapes[k][2], shapes[k][3],
                 bits & 2);
            struct verdict *v = check(&t, NULL);
            cr_expect_eq(v->findings, 0, "shape %zu, %d: %s", k, bits, v->finding[0].what);
            cr_expect_eq(v->line[0].outcome, VERDICT_CLEAN);
            free(v);
            tiny_free(&t);
        }
}

static void expect_head_blamed(enum precision precision)
{
    struct tiny t;
    make(&t, precision, 2, 2, 8, 9, true);
    struct fault fault;
    catalogue_plant(&fault, &t.model, NULL, catalogue_find("backward-unmasked"), 1, 0);
    struct verdict *v = check(&t, NULL);
    cr_assert_gt(v->findings, 0);
    for (size_t k = 0; k < v->findings; k++) {
        cr_expect(v->finding[k].layer == 1 && v->finding[k].head == 0 && v->finding[k].backward);
        cr_expect_str_eq(v->finding[k].operation, "attention");
    }
    const bool skip[] = {false, true};
    struct verdict *skipped = check(&t, skip);
    cr_expect_eq(skipped->findings, 0);
    free(skipped);
    free(v);
    tiny_free(&t);
}

Test(derivative, a_backward_pass_without_its_mask_is_blamed_on_the_head)
{
    expect_head_blamed(PRECISION_FP32);
    expect_head_blamed(PRECISION_BF16);
}

/* The forward pass is not what the formulas say, so gradients of it are not theirs: each half is told apart. */
Test(derivative, the_half_that_is_wrong_is_blamed)
{
    const char *const names[][2] = {{"block-mean-gelu", "GELU"}, {"no-mask", "attention"}};
    for (size_t k = 0; k < 2; k++) {
        struct tiny t;
        make(&t, PRECISION_FP32, 1, 2, 8, 9, true);
        struct fault fault;
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(names[k][0]), 0, FAULT_EVERYWHERE);
        struct verdict *v = check(&t, NULL);
        cr_assert_gt(v->findings, 0);
        bool named = false;
        for (size_t n = 0; n < v->findings; n++)
            named |= strcmp(v->finding[n].operation, names[k][1]) == 0;
        cr_expect(named, "%s: %s", names[k][0], v->finding[0].operation);
        free(v);
        tiny_free(&t);
    }
}
