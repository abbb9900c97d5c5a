#include "diag/trunk.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct verdict *check(size_t L, size_t B, size_t T, double dropout, bool bias, bool tied, const char *fault_name)
{
    struct config c = config_make(L, 2, 8, T, 5);
    c.dropout = dropout;
    c.bias = bias;
    c.tied = tied;
    struct tiny t;
    tiny_make(&t, &c, 1, B, T, 1);
    struct fault fault;
    if (fault_name)
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(fault_name), FAULT_EVERYWHERE, FAULT_EVERYWHERE);
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(trunk_check(v, &t.model, &t.work, 3, &err), STATUS_OK, "%s", err.message);
    tiny_free(&t);
    return v;
}

Test(trunk, of_correct_models_is_its_parts)
{
    for (size_t L = 1; L < 4; L++)
        for (int k = 0; k < 8; k++) {
            struct verdict *v = check(L, 1 + L % 3, 3 * L + 1, k & 1 ? 0.3 : 0, k & 2, k & 4, NULL);
            cr_expect_eq(v->findings, 0, "%zu layers, kind %d: %s", L, k, v->finding[0].what);
            free(v);
        }
}

Test(trunk, what_is_wrong_around_the_blocks_is_found_there)
{
    const char *const names[][2] = {{"time-mean-lnf", "final LayerNorm"}, {"time-mean-embeddings", "embeddings"}};
    for (size_t k = 0; k < 2; k++) {
        struct verdict *v = check(2, 2, 9, 0, true, false, names[k][0]);
        cr_assert_gt(v->findings, 0);
        bool named = false;
        for (size_t n = 0; n < v->findings && n < VERDICT_FINDINGS; n++)
            named |= strcmp(v->finding[n].operation, names[k][1]) == 0;
        cr_expect(named, "%s: %s", names[k][0], v->finding[0].operation);
        free(v);
    }
}
