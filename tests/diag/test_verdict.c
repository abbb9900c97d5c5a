#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "diag/verdict.h"

Test(verdict, keeps_lines_and_findings_in_order)
{
    struct verdict *v = calloc(1, sizeof *v);
    verdict_say(v, "suffix", VERDICT_FOUND, 0.5, "%d pairs", 3);
    verdict_find(v, "suffix", "position %d", 7)->layer = 2;
    verdict_find(v, "gradient", "row");
    cr_assert_eq(v->lines, 1);
    cr_assert_str_eq(v->line[0].evidence, "3 pairs");
    cr_assert_eq(v->findings, 2);
    cr_assert_str_eq(v->finding[0].what, "position 7");
    cr_assert_eq(v->finding[0].layer, 2);
    cr_assert_eq(v->finding[0].head, VERDICT_NOWHERE);
    cr_assert(isnan(v->finding[1].nats));
    free(v);
}

Test(verdict, counts_findings_that_it_cannot_keep)
{
    struct verdict *v = calloc(1, sizeof *v);
    for (int i = 0; i < VERDICT_FINDINGS + 10; i++)
        verdict_find(v, "suffix", "%d", i);
    cr_assert_eq(v->findings, VERDICT_FINDINGS + 10);
    cr_assert_str_eq(v->finding[0].what, "0");
    free(v);
}
