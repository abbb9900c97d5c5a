#include "cli/human.h"

#include <criterion/criterion.h>
#include <math.h>

Test(human, durations_change_unit_without_a_gap)
{
    char s[HUMAN_SIZE];
    const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0.0 ms"},
                 {0.00423, "4.2 ms"},
                 {0.00996, "10 ms"},
                 {0.0421, "42 ms"},
                 {0.0996, "0.10 s"},
                 {0.4249, "0.42 s"},
                 {0.996, "1.0 s"},
                 {8.31, "8.3 s"},
                 {9.96, "10 s"},
                 {59.4, "59 s"},
                 {59.6, "1 min 00 s"},
                 {185, "3 min 05 s"},
                 {3599.6, "1 h 00 min"},
                 {7620, "2 h 07 min"},
                 {86400 * 3 + 15000, "3 d 4 h"},
                 {-1, "?"},
                 {NAN, "?"},
                 {INFINITY, "?"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_str_eq(human_duration(s, cases[i].seconds), cases[i].text);
}

Test(human, rates_keep_three_digits)
{
    char s[HUMAN_SIZE];
    cr_assert_str_eq(human_rate(s, 0), "0.00");
    cr_assert_str_eq(human_rate(s, 0.5), "0.50");
    cr_assert_str_eq(human_rate(s, 812.4), "812");
    cr_assert_str_eq(human_rate(s, 999.4), "999");
    cr_assert_str_eq(human_rate(s, 999.6), "1.00k");
    cr_assert_str_eq(human_rate(s, 34120), "34.1k");
    cr_assert_str_eq(human_rate(s, 2050000), "2.05M");
    cr_assert_str_eq(human_rate(s, NAN), "?");
    cr_assert_str_eq(human_rate(s, INFINITY), "?");
    cr_assert_str_eq(human_rate(s, 1e300), "?");
}

Test(human, counts_are_grouped_in_threes)
{
    char s[HUMAN_SIZE];
    cr_assert_str_eq(human_count(s, 0), "0");
    cr_assert_str_eq(human_count(s, 999), "999");
    cr_assert_str_eq(human_count(s, 1000), "1,000");
    cr_assert_str_eq(human_count(s, 1115394), "1,115,394");
    cr_assert_str_eq(human_count(s, UINT64_MAX), "18,446,744,073,709,551,615");
}

Test(human, bytes_have_decimal_units)
{
    char s[HUMAN_SIZE];
    cr_assert_str_eq(human_bytes(s, 0), "0 B");
    cr_assert_str_eq(human_bytes(s, 999), "999 B");
    cr_assert_str_eq(human_bytes(s, 1000), "1.00 kB");
    cr_assert_str_eq(human_bytes(s, 34120), "34.1 kB");
    cr_assert_str_eq(human_bytes(s, UINT64_MAX), "18.4 EB");
}
