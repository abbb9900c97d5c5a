#include "diag/modes.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct verdict *check(const char *fault_name, double dropout)
{
    struct config c = config_make(2, 2, 8, 9, 5);
    c.dropout = dropout;
    struct tiny t;
    tiny_make(&t, &c, 1, 3, 9, 1);
    struct fault fault;
    if (fault_name)
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(fault_name), 1, FAULT_EVERYWHERE);
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(modes_check(v, &t.model, &t.work, t.tokens, 3, &err), STATUS_OK);
    cr_assert_eq(v->lines, 1);
    tiny_free(&t);
    return v;
}

Test(modes, a_correct_model_is_one_model)
{
    for (int k = 0; k < 3; k++) {
        struct verdict *v = check(NULL, 0.4 * k);
        cr_expect_eq(v->findings, 0, "%s", v->finding[0].what);
        free(v);
    }
}

Test(modes, rows_that_differ_are_found)
{
    struct verdict *v = check("batch-next", 0); /* the last row has no next */
    cr_expect_eq(v->line[0].outcome, VERDICT_FOUND);
    cr_expect(strstr(v->finding[0].what, "row of the batch"));
    free(v);
}
