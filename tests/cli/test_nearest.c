#include "cli/nearest.h"

#include <criterion/criterion.h>
#include <string.h>

Test(nearest, distance_counts_inserts_deletes_replacements_and_swaps)
{
    cr_assert_eq(nearest_distance("", ""), 0);
    cr_assert_eq(nearest_distance("train", "train"), 0);
    cr_assert_eq(nearest_distance("", "abc"), 3);
    cr_assert_eq(nearest_distance("tran", "train"), 1);
    cr_assert_eq(nearest_distance("traain", "train"), 1);
    cr_assert_eq(nearest_distance("trein", "train"), 1);
    cr_assert_eq(nearest_distance("tarin", "train"), 1);
    cr_assert_eq(nearest_distance("kitten", "sitting"), 3);
    cr_assert_eq(nearest_distance("sitting", "kitten"), 3);
}

Test(nearest, very_long_words_are_compared_without_overrunning)
{
    char a[500], b[500];
    memset(a, 'x', 499);
    memset(b, 'y', 499);
    a[499] = b[499] = '\0';
    cr_assert_eq(nearest_distance(a, b), 63);
    cr_assert_eq(nearest_distance(a, a), 0);
}

static const char *suggest(const char *word)
{
    const char *const offers[] = {"train", "generate", "eval", "info", "temperature", "top-k", "top-p"};
    struct nearest n = {.word = word};
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        nearest_offer(&n, offers[i]);
    return n.best;
}

Test(nearest, suggests_a_slip_or_a_beginning_and_nothing_far)
{
    cr_assert_str_eq(suggest("trian"), "train");
    cr_assert_str_eq(suggest("temprature"), "temperature");
    cr_assert_str_eq(suggest("temp"), "temperature");
    cr_assert_str_eq(suggest("top_k"), "top-k");
    cr_assert_str_eq(suggest("top-q"), "top-k", "a tie goes to the first offered");
    cr_assert_str_eq(suggest("evla"), "eval");
    cr_assert_null(suggest("zebra"));
    cr_assert_null(suggest(""));
    cr_assert_null(suggest("xy"));
}
