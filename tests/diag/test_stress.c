#include "diag/stress.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct verdict *check(const char *fault_name, real sharpen)
{
    const struct config c = config_make(2, 2, 8, 9, 5);
    struct tiny t;
    tiny_make(&t, &c, 1, 3, 9, 1);
    for (size_t layer = 0; layer < 2; layer++)
        tiny_sharpen(&t, layer, sharpen);
    struct fault fault;
    if (fault_name)
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(fault_name), 1, 0);
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(stress_check(v, &t.model, &t.work, t.tokens, 3, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(v->lines, 2);
    cr_assert_str_eq(v->line[0].detector, "margin");
    tiny_free(&t);
    return v;
}

Test(stress, of_correct_models_finds_nothing)
{
    const real sharp[] = {1, 100, 1e7};
    for (size_t k = 0; k < 3; k++) {
        struct verdict *v = check(NULL, sharp[k]);
        cr_expect_eq(v->findings, 0);
        cr_expect_eq(v->line[0].outcome, k == 2 ? VERDICT_NOTED : VERDICT_CLEAN, "%s", v->line[0].evidence);
        free(v);
    }
}

Test(stress, finite_masks_are_found_while_they_still_hold)
{
    const char *const names[] = {"minus-1e4", "minus-1e9"};
    for (size_t k = 0; k < 2; k++) {
        struct verdict *v = check(names[k], 1);
        cr_assert_eq(v->findings, 1, "%s: %zu", names[k], v->findings);
        cr_expect(v->finding[0].layer == 1 && v->finding[0].head == 0);
        cr_expect_str_eq(v->finding[0].operation, "attention");
        free(v);
    }
}
