#include "lab/lone_attention.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "support/machine.h"

static const struct lone_size few = {2, 3, 5, 37};

Test(lone_attention, both_kinds_give_the_same_results)
{
    struct error err;
    struct lone_attention a[LONE_KINDS];
    for (int k = 0; k < LONE_KINDS; k++) {
        cr_assert_eq(lone_attention_create(&a[k], (enum lone_kind)k, &few, support_team(2), &err), STATUS_OK);
        cr_assert_eq(a[k].arena.size, lone_attention_bytes((enum lone_kind)k, &few, support_team(2)));
        cr_assert(lone_attention_forward(&a[k]) > 0 && lone_attention_backward(&a[k]) > 0);
    }
    cr_assert_str_eq(lone_attention_name(LONE_REFERENCE), "reference");
    cr_assert_str_eq(lone_attention_name(LONE_TILED), "tiled");
    const size_t n = 2 * 37 * 15;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        cr_assert_float_eq(a[0].y[i], a[1].y[i], 1e-5);
        sum += fabs((double)a[0].y[i]);
    }
    for (size_t i = 0; i < 3 * n; i++)
        cr_assert_float_eq(a[0].dqkv[i], a[1].dqkv[i], 1e-5);
    cr_assert(sum > 1);
    for (int k = 0; k < LONE_KINDS; k++)
        lone_attention_free(&a[k]);
}

Test(lone_attention, memory_of_the_textbook_grows_with_the_square)
{
    const struct lone_size twice = {2, 3, 5, 74}, none = {2, 3, 5, SIZE_MAX / 16};
    const struct team team = support_team(2);
    const double ref = (double)lone_attention_bytes(LONE_REFERENCE, &twice, team) /
                       (double)lone_attention_bytes(LONE_REFERENCE, &few, team);
    const double tiled =
        (double)lone_attention_bytes(LONE_TILED, &twice, team) / (double)lone_attention_bytes(LONE_TILED, &few, team);
    cr_assert(ref > 2.5 && tiled < 2.2, "%g, %g", ref, tiled);
    struct error err;
    struct lone_attention a;
    for (int k = 0; k < LONE_KINDS; k++) {
        cr_assert_eq(lone_attention_bytes((enum lone_kind)k, &none, team), SIZE_MAX);
        cr_assert_eq(lone_attention_create(&a, (enum lone_kind)k, &none, team, &err), STATUS_RANGE);
    }
}
