#include "diag/entropy.h"

#include <criterion/criterion.h>
#include <math.h>

static const double NONE = (double)NAN;

Test(entropy, one_look_tells_uniform_from_sharp)
{
    cr_assert_eq(entropy_judge(NONE, 1, NONE, 0), ENTROPY_UNIFORM);
    cr_assert_eq(entropy_judge(NONE, 0.98, NONE, 0.1), ENTROPY_UNIFORM);
    cr_assert_eq(entropy_judge(NONE, 0.9799, NONE, 0.1), ENTROPY_ORDINARY);
    cr_assert_eq(entropy_judge(NONE, 0.2, NONE, 5), ENTROPY_ORDINARY);
    cr_assert_eq(entropy_judge(NONE, 0.1999, NONE, 5), ENTROPY_SHARP);
    cr_assert_eq(entropy_judge(NONE, 0, NONE, 1e6), ENTROPY_SHARP, "nothing is collapsing at the first look");
}

Test(entropy, a_head_that_never_sees_two_keys_is_ordinary)
{
    cr_assert_eq(entropy_judge(NONE, NONE, NONE, 1), ENTROPY_ORDINARY);
    cr_assert_eq(entropy_judge(0.9, NONE, 1, 100), ENTROPY_ORDINARY);
}

Test(entropy, collapsing_is_a_fall_with_scores_that_grow)
{
    cr_assert_eq(entropy_judge(0.6, 0.29, 15, 30), ENTROPY_COLLAPSING);
    cr_assert_eq(entropy_judge(0.6, 0.01, 15, 300), ENTROPY_COLLAPSING, "said before sharp");
    cr_assert_eq(entropy_judge(0.5, 0.25, 12, 24), ENTROPY_COLLAPSING, "halved exactly, doubled exactly");
    cr_assert_eq(entropy_judge(0.5, 0.26, 12, 24), ENTROPY_ORDINARY, "not halved");
    cr_assert_eq(entropy_judge(0.8, 0.3, 12, 24), ENTROPY_ORDINARY, "not below 0.30");
    cr_assert_eq(entropy_judge(0.6, 0.29, 16, 31), ENTROPY_ORDINARY, "scores not doubled");
    cr_assert_eq(entropy_judge(0.6, 0.29, 5, 20), ENTROPY_ORDINARY, "scores not above 20");
    cr_assert_eq(entropy_judge(0.6, 0.1, 5, 20), ENTROPY_SHARP);
    cr_assert_eq(entropy_judge(0.6, 0.29, -3, 30), ENTROPY_COLLAPSING, "a largest score may be negative");
}

Test(entropy, words)
{
    cr_assert_str_eq(entropy_word(ENTROPY_ORDINARY), "");
    cr_assert_str_eq(entropy_word(ENTROPY_UNIFORM), "uniform");
    cr_assert_str_eq(entropy_word(ENTROPY_SHARP), "sharp");
    cr_assert_str_eq(entropy_word(ENTROPY_COLLAPSING), "collapsing");
}
