#include "diag/findings.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(findings, are_one_for_each_place_and_none_twice)
{
    struct verdict *v = calloc(1, sizeof *v);
    struct leak_report *r = calloc(1, sizeof *r);
    findings_of_leak(v, "suffix", r);
    cr_assert_eq(v->findings, 0, "nothing found, nothing said");
    r->leak = r->suffix_leaks = true;
    r->places = 2;
    r->place[0] = (struct leak_place){0, 1, "attention", false, {CHART_ONE_AHEAD, 1, 5, 5}};
    r->place[1] = (struct leak_place){2, LEAK_NO_HEAD, "GELU", true, {CHART_ALL_FUTURE, 0, 5, 5}};
    findings_of_leak(v, "suffix", r);
    findings_of_leak(v, "stress", r);
    cr_assert_eq(v->findings, 2);
    cr_expect_str_eq(v->finding[0].what, "attention sees the next position only (+1)");
    cr_expect(v->finding[0].layer == 0 && v->finding[0].head == 1);
    cr_expect(v->finding[1].backward && v->finding[1].head == VERDICT_NOWHERE);
    free(r);
    free(v);
}

Test(findings, without_a_place_still_say_so)
{
    struct verdict *v = calloc(1, sizeof *v);
    struct leak_report *r = calloc(1, sizeof *r);
    r->leak = r->gradient_leaks = true;
    findings_of_leak(v, "gradient", r);
    cr_assert_eq(v->findings, 1);
    cr_expect(strstr(v->finding[0].what, "by no operation alone"));
    free(r);
    free(v);
}
