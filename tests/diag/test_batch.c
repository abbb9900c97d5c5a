#include "diag/batch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct verdict *check(struct tiny *t)
{
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(batch_check(v, &t->model, &t->work, 3, &err), STATUS_OK);
    cr_assert_eq(v->lines, 1);
    return v;
}

static void make(struct tiny *t, size_t B, size_t T, size_t V, double dropout)
{
    struct config c = config_make(2, 2, 8, T, V);
    c.dropout = dropout;
    tiny_make(t, &c, 1, B, T, 1);
}

Test(batch, rows_of_correct_models_keep_to_themselves)
{
    const size_t shapes[][3] = {{2, 1, 2}, {3, 7, 5}, {5, 16, 1}};
    for (size_t k = 0; k < 3; k++)
        for (int drops = 0; drops < 2; drops++) {
            struct tiny t;
            make(&t, shapes[k][0], shapes[k][1], shapes[k][2], drops ? 0.4 : 0);
            struct verdict *v = check(&t);
            cr_expect(v->line[0].outcome == VERDICT_CLEAN && v->findings == 0, "%s", v->line[0].evidence);
            free(v);
            tiny_free(&t);
        }
}

Test(batch, a_single_row_has_no_other)
{
    struct tiny t;
    make(&t, 1, 5, 3, 0);
    struct verdict *v = check(&t);
    cr_assert_eq(v->line[0].outcome, VERDICT_SKIPPED);
    free(v);
    tiny_free(&t);
}

Test(batch, mixed_rows_are_found_where_they_mix)
{
    const char *const names[] = {"batch-mean", "batch-next"};
    const char *const operations[] = {"LayerNorm 1", "attention"};
    for (size_t k = 0; k < 2; k++) {
        struct tiny t;
        make(&t, 3, 6, 5, 0);
        struct fault fault;
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(names[k]), 1, FAULT_EVERYWHERE);
        struct verdict *v = check(&t);
        cr_assert_eq(v->line[0].outcome, VERDICT_FOUND);
        cr_assert_eq(v->findings, 1);
        cr_expect_eq(v->finding[0].layer, 1);
        cr_expect_str_eq(v->finding[0].operation, operations[k]);
        free(v);
        tiny_free(&t);
    }
}
